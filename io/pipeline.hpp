// A stream of items answered on several cores: groups in, answers out in order, in constant memory.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace vit::io {

struct PipelineOptions {
  int cores = 1;          ///< that may work at the same time
  std::size_t batch = 1;  ///< most items of a group
  int widest = 0;         ///< most cores of a group; 0: all
};

/// Where the items come from. Called by one thread at a time.
template <class In>
struct PipelineSource {
  std::function<std::optional<In>()> next;  ///< nothing at the end; may wait
  /// How many are certain to come, up to a number; does not wait.
  std::function<std::size_t(std::size_t)> look_ahead;
};

/// Of an object with two functions of these names, which must outlive the run.
template <class Source>
auto pipeline_source(Source& source) {
  using In = typename decltype(source.next())::value_type;
  return PipelineSource<In>{[&source] { return source.next(); },
                            [&source](std::size_t most) { return source.look_ahead(most); }};
}

/// How the cores spent a run, in seconds.
struct PipelineTimes {
  double elapsed = 0;
  double busy = 0;  ///< of all cores: those that a worker had while it worked
};

/// Every worker is a thread that does all of the work on a group: what one stage leaves of a core the next
/// one has, no core waits for a queue to fill, and nothing but answers is handed from thread to thread. The
/// first worker is the calling thread; others start when there is work for them and leave when the source is
/// waited for.
///
/// The cores are shared out by what is there: where many items wait each group has one core, where few do
/// they have several each, and one that comes alone has all. A core that is given away is not given again
/// before the group is answered. Groups get smaller towards the end, so that all workers end together, in
/// powers of two, so that few sizes occur.
///
/// At most a few groups per core wait for an earlier one, so memory does not grow with the length of the
/// source. The first exception from any of the three ends the run and is thrown to the caller.
template <class In, class Out>
class Pipeline {
 public:
  /// Answers a group, one for each item in order, on so many cores.
  using Worker = std::function<std::vector<Out>(std::vector<In>, int cores)>;
  /// Called by one thread at a time, in the order of the source.
  using Sink = std::function<void(Out)>;

  /// `make_worker` is called in the thread that then uses the worker.
  Pipeline(PipelineSource<In> source, std::function<Worker()> make_worker, Sink sink)
      : source_(std::move(source)), make_worker_(std::move(make_worker)), sink_(std::move(sink)) {}

  /// Once.
  PipelineTimes run(const PipelineOptions& options) {
    cores_ = free_ = std::max(1, options.cores);
    alive_.insert(0);
    batch_ = std::max<std::size_t>(1, options.batch);
    widest_ = options.widest > 0 ? options.widest : cores_;
    const auto start = Clock::now();
    work(0);
    threads_.clear();  // joins; no thread starts another once the source has ended or the run was stopped
    if (failure_) std::rethrow_exception(failure_);
    return {seconds(Clock::now() - start), busy_};
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Group {
    std::size_t number = 0;
    int cores = 1;
    std::vector<In> items;
  };

  static double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

  void work(int index) noexcept {
    try {
      const Worker worker = make_worker_();
      while (std::optional<Group> group = take(index)) {
        const auto start = Clock::now();
        std::vector<Out> answers = worker(std::move(group->items), group->cores);
        const double time = seconds(Clock::now() - start);
        const std::lock_guard lock(mutex_);
        busy_ += time * group->cores;
        free_ += group->cores;
        --in_flight_;
        deliver(group->number, std::move(answers));
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      stop();
    }
  }

  // Ends the run for the exception that is being handled. The caller holds mutex_.
  void stop() noexcept {
    if (!failure_) failure_ = std::current_exception();
    ended_ = true;
    changed_.notify_all();
  }

  /// The next group; none when the worker is to leave. Of idle workers the first one takes it: so in a run
  /// whose items come one by one a single thread works, and has a team of its own for all cores.
  std::optional<Group> take(int index) {
    std::unique_lock lock(mutex_);
    idle_.insert(index);
    changed_.wait(lock, [&] {
      const bool room = next_number_ - next_delivered_ < 4 * static_cast<std::size_t>(cores_);
      return is_to_leave(index) || (!taking_ && free_ > 0 && room && index == *idle_.begin());
    });
    idle_.erase(index);
    if (is_to_leave(index)) {
      alive_.erase(index);
      return std::nullopt;
    }
    taking_ = true;
    lock.unlock();
    std::vector<In> items;
    std::size_t ahead = 0;
    try {
      items = next_items();
      ahead = source_.look_ahead(static_cast<std::size_t>(cores_));
    } catch (...) {
      lock.lock();
      stop();
      return std::nullopt;
    }
    lock.lock();
    taking_ = source_waits_ = false;
    ended_ = ended_ || items.empty();  // it may have been stopped meanwhile
    changed_.notify_all();
    if (ended_) return std::nullopt;
    Group group{next_number_++, share(index, ahead), std::move(items)};
    free_ -= group.cores;
    ++in_flight_;
    start_another();
    return group;
  }

  bool is_to_leave(int index) const { return ended_ || (source_waits_ && index > 0); }

  std::vector<In> next_items() {
    const std::size_t shares = 2 * static_cast<std::size_t>(cores_);
    const std::size_t ahead = source_.look_ahead(shares * batch_);
    if (ahead == 0) {
      const std::lock_guard lock(mutex_);
      source_waits_ = true;
      changed_.notify_all();
    }
    const std::size_t count = std::bit_floor(std::clamp<std::size_t>(ahead / shares, 1, batch_));
    std::vector<In> items;
    while (items.size() < count) {
      std::optional<In> item = source_.next();
      if (!item) break;
      items.push_back(std::move(*item));
    }
    return items;
  }

  /// A group's team of threads takes the place of workers: so there are `cores` threads in all. Worker i
  /// never has more than 1/(i + 1) of the cores, or every worker might keep a large team from a moment when
  /// it was alone.
  int share(int index, std::size_t ahead) const {
    const auto groups = static_cast<int>(in_flight_ + 1 + ahead);
    const int others = static_cast<int>(alive_.size()) - 1;
    const int fair = std::min(cores_ / std::max(groups, index + 1), cores_ - others);
    return std::clamp(fair, 1, std::min(free_, widest_));
  }

  void start_another() {
    if (free_ == 0 || !idle_.empty() || std::ssize(alive_) == cores_) return;
    int index = 1;
    while (alive_.contains(index)) ++index;
    try {
      threads_[index] = std::jthread([this, index] { work(index); });  // joins one that has left
      alive_.insert(index);
    } catch (const std::system_error&) {  // no more threads for this process: those that there are will do
    }
  }

  // The caller holds mutex_, also while the run is stopped for an exception of the sink: nobody may call it
  // again.
  void deliver(std::size_t number, std::vector<Out> answers) noexcept {
    try {
      waiting_.emplace(number, std::move(answers));
      for (auto first = waiting_.begin();
           !failure_ && first != waiting_.end() && first->first == next_delivered_;
           first = waiting_.begin()) {
        for (Out& answer : first->second) sink_(std::move(answer));
        waiting_.erase(first);
        ++next_delivered_;
      }
      changed_.notify_all();
    } catch (...) {
      stop();
    }
  }

  PipelineSource<In> source_;
  std::function<Worker()> make_worker_;
  Sink sink_;
  int cores_ = 1;
  std::size_t batch_ = 1;
  int widest_ = 1;

  std::mutex mutex_;  // guards everything below, and sink_
  std::condition_variable changed_;
  std::set<int> alive_;        // workers
  std::set<int> idle_;         // those of them that wait for a group
  bool taking_ = false;        // one is asking the source
  bool source_waits_ = false;  // and will not be answered at once
  int free_ = 1;               // cores
  std::size_t in_flight_ = 0;
  std::size_t next_number_ = 0;
  std::size_t next_delivered_ = 0;
  std::map<std::size_t, std::vector<Out>> waiting_;  // answers, for those of an earlier group
  double busy_ = 0;
  bool ended_ = false;
  std::exception_ptr failure_;
  std::map<int, std::jthread> threads_;  // of workers but the first
};

}  // namespace vit::io
