#include "vit/backend/context.hpp"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <thread>

#include "vit/backend/primitive.hpp"
#include "vit/cpu_quota.hpp"

namespace vit::backend {
int available_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int threads = 1;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    threads = std::max(1, CPU_COUNT(&set));
  } else {  // more cores than cpu_set_t holds
    threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  if (const int quota = cpu_quota(); quota > 0) threads = std::min(threads, quota);
  return threads;
}

ThreadScope::ThreadScope(int threads) : previous_(omp_get_max_threads()) {
  omp_set_num_threads(std::max(1, threads));
}

ThreadScope::~ThreadScope() {
  omp_set_num_threads(previous_);
}

int ThreadScope::threads() {
  return omp_get_max_threads();
}

Context::Context() : impl_(guarded("create a stream", [] { return std::make_unique<Impl>(); })) {}

Context::~Context() = default;

void Context::Impl::reserve(std::size_t bytes) {
  const auto floats = static_cast<std::int64_t>((bytes + sizeof(float) - 1) / sizeof(float));
  if (floats > scratchpad.size()) scratchpad = Tensor({floats});
}

void Context::Impl::reserve_sums(std::int64_t count) {
  if (count <= sums_size) return;
  sums_memory = LargeMemory(static_cast<std::size_t>(count) * sizeof(float));
  sums_size = count;
}

}  // namespace vit::backend
