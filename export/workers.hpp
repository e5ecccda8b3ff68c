// A few threads that share out the loops of the evaluator.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace vit::exporter {

class Workers {
 public:
  /// The calling thread is one of them. Where the system gives no more threads, there are fewer.
  explicit Workers(int threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  std::int64_t size() const { return static_cast<std::int64_t>(threads_.size()) + 1; }

  using Body = std::function<void(std::int64_t begin, std::int64_t end)>;
  /// Calls `body` for parts of 0 … count, several at a time, each of `grain` indices at least where there are
  /// as many. Returns when all are done; throws the first exception of a body. Not to be called by a body,
  /// nor by two threads at once.
  void for_parts(std::int64_t count, std::int64_t grain, const Body& body);

 private:
  void serve();
  void take_parts() noexcept;

  std::vector<std::thread> threads_;

  std::mutex mutex_;  // guards everything below but next_
  std::condition_variable started_;
  std::condition_variable finished_;
  std::uint64_t round_ = 0;  // of for_parts()
  std::size_t busy_ = 0;     // threads that have not finished it
  bool stopped_ = false;
  std::exception_ptr failure_;

  const Body* body_ = nullptr;  // these three change only between rounds
  std::int64_t count_ = 0;
  std::int64_t part_ = 1;
  std::atomic<std::int64_t> next_ = 0;
};

}  // namespace vit::exporter
