#include "io/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

namespace vit::io {
namespace {

using std::chrono::milliseconds;
using Pipe = Pipeline<int, int>;

/// 0, 1, …, count − 1, known from the beginning.
struct Counting {
  int count;
  int given = 0;

  std::optional<int> next() { return given < count ? std::optional(given++) : std::nullopt; }
  std::size_t look_ahead(std::size_t most) const {
    return std::min(most, static_cast<std::size_t>(count - given));
  }
};

std::vector<int> same(std::vector<int> group, int /*cores*/) {
  return group;
}

class PipelineTest : public ::testing::TestWithParam<int> {
 protected:
  PipelineOptions options(std::size_t batch = 1) const { return {.cores = GetParam(), .batch = batch}; }
};

TEST_P(PipelineTest, AnswersComeInTheOrderOfTheItems) {
  Counting source{200};
  std::vector<int> answers;
  Pipe pipeline(
      pipeline_source(source),
      [] {
        return [](std::vector<int> group, int /*cores*/) {
          // Every seventh group is slow, so that later ones overtake it.
          if (group.front() % 7 == 0) std::this_thread::sleep_for(milliseconds(3));
          for (int& value : group) value *= 2;
          return group;
        };
      },
      [&](int answer) { answers.push_back(answer); });
  pipeline.run(options(4));
  ASSERT_EQ(answers.size(), 200U);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(answers[static_cast<std::size_t>(i)], 2 * i);
}

TEST_P(PipelineTest, FewGroupsWaitForASlowOne) {
  Counting source{300};
  std::atomic<int> finished = 0;
  int most_ahead = 0;
  Pipe pipeline(
      pipeline_source(source),
      [&] {
        return [&](std::vector<int> group, int /*cores*/) {
          if (group.front() == 0) std::this_thread::sleep_for(milliseconds(50));
          ++finished;
          return group;
        };
      },
      [&](int answer) {
        if (answer == 0) most_ahead = finished;
      });
  pipeline.run(options());
  EXPECT_EQ(finished, 300);
  EXPECT_LE(most_ahead, 4 * GetParam());
}

TEST_P(PipelineTest, AnExceptionOfTheSinkEndsTheRun) {
  Counting source{100000};
  int delivered = 0;
  Pipe pipeline(
      pipeline_source(source), [] { return same; },
      [&](int) {
        if (++delivered == 5) throw std::runtime_error("disk full");
      });
  EXPECT_THROW(pipeline.run(options()), std::runtime_error);
  EXPECT_EQ(delivered, 5);
  EXPECT_LT(source.given, 1000);
}

TEST_P(PipelineTest, AnExceptionOfTheSourceEndsTheRun) {
  int calls = 0;
  Pipe pipeline(
      {.next = [&]() -> std::optional<int> {
         if (++calls == 5) throw std::runtime_error("unreadable list");
         return calls;
       },
       .look_ahead = [](std::size_t most) { return most; }},
      [] { return same; }, [](int) {});
  EXPECT_THROW(pipeline.run(options()), std::runtime_error);
  EXPECT_EQ(calls, 5);
}

TEST_P(PipelineTest, AnExceptionOfAWorkerEndsTheRun) {
  Counting source{100000};
  Pipe pipeline(
      pipeline_source(source),
      [] {
        return [](std::vector<int> group, int /*cores*/) {
          if (group.front() == 20) throw std::runtime_error("bug");
          return group;
        };
      },
      [](int) {});
  EXPECT_THROW(pipeline.run(options()), std::runtime_error);
  EXPECT_LT(source.given, 1000);
}

TEST_P(PipelineTest, AnExceptionWhileAWorkerIsMadeEndsTheRun) {
  Counting source{100};
  Pipe pipeline(
      pipeline_source(source), []() -> Pipe::Worker { throw std::runtime_error("no memory"); }, [](int) {});
  EXPECT_THROW(pipeline.run(options()), std::runtime_error);
}

TEST_P(PipelineTest, AnEmptySourceIsFine) {
  Counting source{0};
  Pipe pipeline(
      pipeline_source(source), [] { return same; }, [](int) { FAIL(); });
  pipeline.run(options());
}

TEST_P(PipelineTest, NeverMoreCoresThanThereAre) {
  Counting source{400};
  std::mutex mutex;
  std::set<std::thread::id> threads;
  int in_use = 0;
  int most = 0;
  int groups = 0;
  Pipe pipeline(
      pipeline_source(source),
      [&] {
        return [&](std::vector<int> group, int cores) {
          {
            const std::lock_guard lock(mutex);
            threads.insert(std::this_thread::get_id());
            most = std::max(most, in_use += cores);
            ++groups;
          }
          std::this_thread::sleep_for(std::chrono::microseconds(200));
          const std::lock_guard lock(mutex);
          in_use -= cores;
          return group;
        };
      },
      [](int) {});
  const PipelineTimes times = pipeline.run(options(2));
  EXPECT_LE(most, GetParam());
  EXPECT_EQ(std::ssize(threads), GetParam());
  EXPECT_TRUE(threads.contains(std::this_thread::get_id())) << "the calling thread should work as well";
  EXPECT_GE(times.busy, 2e-4 * groups);
  EXPECT_LE(times.busy, times.elapsed * GetParam());
}

TEST_P(PipelineTest, OneThatComesAloneHasAllCores) {
  int given = 0;
  std::vector<int> shares;
  Pipe pipeline(
      {.next = [&]() -> std::optional<int> { return given < 20 ? std::optional(given++) : std::nullopt; },
       .look_ahead = [](std::size_t) { return std::size_t{0}; }},  // a list that is typed
      [&] {
        return [&, thread = std::this_thread::get_id()](std::vector<int> group, int cores) {
          EXPECT_EQ(thread, std::this_thread::get_id());
          shares.push_back(cores);
          return group;
        };
      },
      [](int) {});
  pipeline.run(options());
  EXPECT_EQ(shares, std::vector<int>(20, GetParam()));
}

TEST_P(PipelineTest, WhoComesAloneAfterACrowdHasAllCoresAgain) {
  Counting crowd{50};
  int lonely = 0;
  std::atomic<int> answered = 0;
  std::vector<int> shares;
  Pipe pipeline(
      {.next = [&]() -> std::optional<int> {
         if (const auto item = crowd.next()) return item;
         while (answered < 50 + lonely) std::this_thread::yield();
         // Whoever has answered last is given the time to see that there is nothing to do.
         std::this_thread::sleep_for(milliseconds(5));
         return lonely < 10 ? std::optional(50 + lonely++) : std::nullopt;
       },
       .look_ahead = [&](std::size_t most) { return crowd.look_ahead(most); }},
      [] {
        return [](std::vector<int> group, int cores) {
          std::this_thread::sleep_for(std::chrono::microseconds(100));
          return std::vector<int>(group.size(), cores);
        };
      },
      [&](int cores) {
        shares.push_back(cores);
        ++answered;
      });
  pipeline.run(options());
  ASSERT_EQ(shares.size(), 60U);
  for (int i = 1; i < 40; ++i) EXPECT_EQ(shares[static_cast<std::size_t>(i)], 1) << i;
  for (int i = 52; i < 60; ++i) EXPECT_EQ(shares[static_cast<std::size_t>(i)], GetParam()) << i;
}

INSTANTIATE_TEST_SUITE_P(Cores, PipelineTest, ::testing::Values(1, 2, 5));

/// The cores of each group, in the order of the items; all groups run at the same time.
std::vector<int> shares(int items, const PipelineOptions& options) {
  Counting source{items};
  std::latch together(items);
  std::vector<int> cores;
  Pipe pipeline(
      pipeline_source(source),
      [&] {
        return [&](const std::vector<int>& group, int given) {
          together.arrive_and_wait();
          return std::vector<int>(group.size(), given);
        };
      },
      [&](int given) { cores.push_back(given); });
  pipeline.run(options);
  return cores;
}

TEST(PipelineShares, FewItemsHaveSeveralCoresEach) {
  EXPECT_EQ(shares(1, {.cores = 8}), std::vector<int>({8}));
  EXPECT_EQ(shares(2, {.cores = 8}), std::vector<int>({4, 4}));
  EXPECT_EQ(shares(3, {.cores = 8}), std::vector<int>({2, 2, 2}));
  EXPECT_EQ(shares(8, {.cores = 8}), std::vector<int>(8, 1));
  EXPECT_EQ(shares(2, {.cores = 8, .widest = 1}), std::vector<int>({1, 1}));
}

TEST(PipelineShares, GroupsGetSmallerTowardsTheEnd) {
  Counting source{37};
  std::vector<std::size_t> sizes;
  Pipe pipeline(
      pipeline_source(source),
      [&] {
        return [&](std::vector<int> group, int /*cores*/) {
          sizes.push_back(group.size());
          return group;
        };
      },
      [](int) {});
  pipeline.run({.cores = 1, .batch = 8});
  EXPECT_EQ(sizes, std::vector<std::size_t>({8, 8, 8, 4, 4, 2, 1, 1, 1}));
}

}  // namespace
}  // namespace vit::io
