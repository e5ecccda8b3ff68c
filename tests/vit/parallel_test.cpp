#include "vit/parallel.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace vit {
namespace {

TEST(ParallelFor, CallsEveryIndexOnceOnOneOpenMpThread) {
  const int before = omp_get_max_threads();
  for (const int threads : {1, 2, 7, 100}) {
    std::vector<std::atomic<int>> calls(50);
    std::mutex mutex;
    std::set<std::thread::id> seen;
    parallel_for(50, threads, [&](std::int64_t i) {
      ++calls[static_cast<std::size_t>(i)];
      EXPECT_EQ(omp_get_max_threads(), 1);
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
    for (const std::atomic<int>& count : calls) EXPECT_EQ(count, 1);
    EXPECT_LE(std::ssize(seen), threads);
  }
  EXPECT_EQ(omp_get_max_threads(), before);
  parallel_for(0, 4, [](std::int64_t) { FAIL(); });
}

TEST(ParallelFor, ThrowsTheFirstExceptionAndStops) {
  std::atomic<int> calls = 0;
  const auto body = [&](std::int64_t) {
    ++calls;
    throw std::runtime_error("no memory");
  };
  EXPECT_THROW(parallel_for(1000, 3, body), std::runtime_error);
  EXPECT_LE(calls, 3);
}

}  // namespace
}  // namespace vit
