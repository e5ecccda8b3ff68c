#include "io/ordered_workers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>

namespace vit::io {
namespace {

/// 0, 1, …, count − 1 in groups of `size`.
OrderedWorkers<int, int>::Source counting(int& next, int count, int size) {
  return [&next, count, size] {
    std::vector<int> group;
    while (static_cast<int>(group.size()) < size && next < count) group.push_back(next++);
    return group;
  };
}

class OrderedWorkersTest : public ::testing::TestWithParam<std::size_t> {};

TEST_P(OrderedWorkersTest, AnswersComeInTheOrderOfTheQuestions) {
  int next = 0;
  std::vector<int> answers;
  OrderedWorkers<int, int> workers(
      counting(next, 200, 3),
      [] {
        return [](std::vector<int> group) {
          // Every seventh group is slow, so that later ones overtake it.
          if (group.front() % 7 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
          for (int& value : group) value *= 2;
          return group;
        };
      },
      [&](int answer) { answers.push_back(answer); });
  workers.run(GetParam());
  ASSERT_EQ(answers.size(), 200U);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(answers[static_cast<std::size_t>(i)], 2 * i);
}

TEST_P(OrderedWorkersTest, FewGroupsWaitForASlowOne) {
  int next = 0;
  std::atomic<int> finished = 0;
  int most_ahead = 0;
  OrderedWorkers<int, int> workers(
      counting(next, 300, 1),
      [&] {
        return [&](std::vector<int> group) {
          if (group.front() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
          ++finished;
          return group;
        };
      },
      [&](int answer) {
        if (answer == 0) most_ahead = finished;
      });
  workers.run(GetParam());
  EXPECT_EQ(finished, 300);
  EXPECT_LE(most_ahead, static_cast<int>(4 * GetParam()));
}

TEST_P(OrderedWorkersTest, AnExceptionOfTheSinkEndsTheRun) {
  int next = 0;
  int delivered = 0;
  OrderedWorkers<int, int> workers(
      counting(next, 100000, 1), [] { return [](std::vector<int> group) { return group; }; },
      [&](int) {
        if (++delivered == 5) throw std::runtime_error("disk full");
      });
  EXPECT_THROW(workers.run(GetParam()), std::runtime_error);
  EXPECT_EQ(delivered, 5);
  EXPECT_LT(next, 1000);
}

TEST_P(OrderedWorkersTest, AnExceptionOfTheSourceEndsTheRun) {
  int calls = 0;
  OrderedWorkers<int, int> workers(
      [&]() -> std::vector<int> {
        if (++calls == 5) throw std::runtime_error("unreadable list");
        return {calls};
      },
      [] { return [](std::vector<int> group) { return group; }; }, [](int) {});
  EXPECT_THROW(workers.run(GetParam()), std::runtime_error);
  EXPECT_EQ(calls, 5);
}

TEST_P(OrderedWorkersTest, AnExceptionOfAWorkerEndsTheRun) {
  int next = 0;
  OrderedWorkers<int, int> workers(
      counting(next, 100000, 1),
      [] {
        return [](std::vector<int> group) {
          if (group.front() == 20) throw std::runtime_error("bug");
          return group;
        };
      },
      [](int) {});
  EXPECT_THROW(workers.run(GetParam()), std::runtime_error);
  EXPECT_LT(next, 1000);
}

TEST_P(OrderedWorkersTest, AnEmptySourceIsFine) {
  int next = 0;
  OrderedWorkers<int, int> workers(
      counting(next, 0, 1), [] { return [](std::vector<int> group) { return group; }; }, [](int) { FAIL(); });
  workers.run(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Workers, OrderedWorkersTest, ::testing::Values(1, 2, 5));

}  // namespace
}  // namespace vit::io
