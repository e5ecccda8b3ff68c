#include "vit/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "vit/backend/context.hpp"

namespace vit {

void parallel_for(std::int64_t count, int threads, const std::function<void(std::int64_t)>& body) {
  std::atomic<std::int64_t> next = 0;
  std::mutex mutex;  // guards failure
  std::exception_ptr failure;
  const auto work = [&]() noexcept {
    const backend::ThreadScope one(1);
    try {
      for (std::int64_t i = next++; i < count; i = next++) body(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::int64_t i = 1; i < std::min<std::int64_t>(threads, count); ++i) others.emplace_back(work);
    } catch (const std::system_error&) {  // those that there are will do
    }
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace vit
