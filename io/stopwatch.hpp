// Where time goes: of one thread, and of a stage that several threads use.
#pragma once

#include <chrono>
#include <mutex>

namespace vit::io {

/// Adds the seconds of its life, or until stop(), to a sum.
class Timer {
 public:
  explicit Timer(double& sum) : sum_(&sum) {}
  ~Timer() { stop(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void stop() {
    if (sum_ == nullptr) return;
    *sum_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    sum_ = nullptr;
  }

 private:
  double* sum_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Runs while at least one thread uses what it measures. Thread-safe.
class BusyClock {
 public:
  /// A thread's use of it; of none, if null.
  class Use {
   public:
    explicit Use(BusyClock* clock) : clock_(clock) {
      if (clock_ != nullptr) clock_->enter();
    }
    ~Use() {
      if (clock_ != nullptr) clock_->leave();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    BusyClock* clock_;
  };

  /// Of the uses that have ended.
  double seconds() const {
    const std::lock_guard lock(mutex_);
    return seconds_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void enter() {
    const std::lock_guard lock(mutex_);
    if (users_++ == 0) since_ = Clock::now();
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    if (--users_ == 0) seconds_ += std::chrono::duration<double>(Clock::now() - since_).count();
  }

  mutable std::mutex mutex_;
  int users_ = 0;
  Clock::time_point since_;
  double seconds_ = 0;
};

}  // namespace vit::io
