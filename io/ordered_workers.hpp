// Work shared out to threads, answers delivered in the order of the questions.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace vit::io {

/// Runs `workers` threads (one: the calling thread itself). Each repeats: take a group from `source`, hand it
/// to its own function made by `make_worker`, deliver the answers to `sink`.
///
///   source()          -> std::vector<In>, empty at the end; called by one thread at a time, may wait
///   make_worker()     -> a callable std::vector<In> -> std::vector<Out>; called in the thread that uses it
///   sink(Out)         called by one thread at a time, in the order of the source
///
/// At most a few groups per worker wait for an earlier one, so memory does not grow with the length of the
/// source. The first exception from any of the three ends the run and is thrown to the caller.
template <class In, class Out>
class OrderedWorkers {
 public:
  using Source = std::function<std::vector<In>()>;
  using Worker = std::function<std::vector<Out>(std::vector<In>)>;
  using Sink = std::function<void(Out)>;

  OrderedWorkers(Source source, std::function<Worker()> make_worker, Sink sink)
      : source_(std::move(source)), make_worker_(std::move(make_worker)), sink_(std::move(sink)) {}

  void run(std::size_t workers) {
    most_waiting_ = 4 * workers;
    if (workers <= 1) {
      work();
    } else {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < workers; ++i) threads.emplace_back([this] { work(); });
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void work() noexcept {
    try {
      const Worker worker = make_worker_();
      while (true) {
        auto [number, group] = take();
        if (group.empty()) return;
        deliver(number, worker(std::move(group)));
      }
    } catch (...) {
      const std::lock_guard lock(delivery_);
      stop();
    }
  }

  // Ends the run for the exception that is being handled. The caller holds delivery_, and where it was the
  // source or the sink that threw, has held their lock since: nobody may call them again.
  void stop() noexcept {
    if (!failure_) failure_ = std::current_exception();
    stopped_ = true;
    delivered_.notify_all();
  }

  std::pair<std::size_t, std::vector<In>> take() {
    const std::lock_guard lock(taking_);
    {
      std::unique_lock wait(delivery_);
      delivered_.wait(wait, [this] { return stopped_ || taken_ - next_ < most_waiting_; });
      if (stopped_) return {};
    }
    try {
      std::vector<In> group = source_();
      return {taken_++, std::move(group)};
    } catch (...) {
      const std::lock_guard stopping(delivery_);
      stop();
      return {};
    }
  }

  void deliver(std::size_t number, std::vector<Out> answers) {
    const std::lock_guard lock(delivery_);
    try {
      waiting_.emplace(number, std::move(answers));
      for (auto first = waiting_.begin(); !stopped_ && first != waiting_.end() && first->first == next_;
           first = waiting_.begin()) {
        for (Out& answer : first->second) sink_(std::move(answer));
        waiting_.erase(first);
        ++next_;
      }
      delivered_.notify_all();
    } catch (...) {
      stop();
    }
  }

  Source source_;
  std::function<Worker()> make_worker_;
  Sink sink_;
  std::size_t most_waiting_ = 1;

  std::mutex taking_;  // guards source_ and, together with delivery_, taken_
  std::size_t taken_ = 0;

  std::mutex delivery_;  // guards everything below and sink_
  std::condition_variable delivered_;
  std::map<std::size_t, std::vector<Out>> waiting_;
  std::size_t next_ = 0;
  bool stopped_ = false;
  std::exception_ptr failure_;
};

}  // namespace vit::io
