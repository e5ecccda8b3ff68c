// How far a run is, on one line of the terminal that changes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace vit::apps {

/// What can be said of a run at some moment.
struct Advance {
  std::int64_t done = 0;
  std::int64_t failed = 0;
  std::optional<std::int64_t> total;  ///< nothing: not known
  double seconds = 0;                 ///< since the start
};

/// "1,204 of 60,000 · 56.7 a second · 3 failed · 17 min left"; what is not known is left out.
std::string describe(const Advance& advance);

/// Writes to standard error, and only where that is a terminal. For one thread at a time.
class Progress {
 public:
  /// `total` is asked whenever the line changes.
  Progress(bool wanted, std::function<std::optional<std::int64_t>()> total);
  /// Takes the line away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// One more is done.
  void advance(bool failed);
  /// Before something else is written to the terminal.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  bool shown_;  // whether there is a terminal for it
  bool visible_ = false;
  std::function<std::optional<std::int64_t>()> total_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
  Advance advance_;
};

}  // namespace vit::apps
