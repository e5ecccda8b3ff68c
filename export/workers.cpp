#include "export/workers.hpp"

#include <algorithm>
#include <system_error>

namespace vit::exporter {
namespace {

constexpr int kMostThreads = 256;
constexpr std::int64_t kPartsPerThread = 4;  // so that a thread that is held up delays the others little

}  // namespace

Workers::Workers(int threads) {
  const int others = std::min(threads, kMostThreads) - 1;
  threads_.reserve(static_cast<std::size_t>(std::max(others, 0)));
  try {
    for (int i = 0; i < others; ++i) threads_.emplace_back([this] { serve(); });
  } catch (const std::system_error&) {
    // Those that there are will do.
  }
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  started_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::for_parts(std::int64_t count, std::int64_t grain, const Body& body) {
  if (count <= 0) return;
  if (threads_.empty() || count <= grain) return body(0, count);
  {
    const std::lock_guard lock(mutex_);
    body_ = &body;
    count_ = count;
    part_ = std::max({grain, count / (kPartsPerThread * size()), std::int64_t{1}});
    next_ = 0;
    busy_ = threads_.size();
    failure_ = nullptr;
    ++round_;
  }
  started_.notify_all();
  take_parts();
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
}

void Workers::serve() {
  std::uint64_t served = 0;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      started_.wait(lock, [&] { return stopped_ || round_ != served; });
      if (stopped_) return;
      served = round_;
    }
    take_parts();
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) finished_.notify_one();
  }
}

void Workers::take_parts() noexcept {
  try {
    while (true) {
      const std::int64_t begin = next_.fetch_add(part_);
      if (begin >= count_) return;
      (*body_)(begin, std::min(begin + part_, count_));
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    next_ = count_;
  }
}

}  // namespace vit::exporter
