#include "apps/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "apps/terminal.hpp"

namespace vit::apps {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(200);

/// 1234567 -> "1,234,567"
std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = std::ssize(text) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), 1, ',');
  return text;
}

std::string duration(double seconds) {
  if (seconds < 99.5) return fmt::format("{:.0f} s", seconds);
  if (seconds < 99.5 * 60) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.0f} h", seconds / 3600);
}

}  // namespace

std::string describe(const Advance& advance) {
  std::string text = grouped(advance.done);
  if (advance.total) text += " of " + grouped(*advance.total);
  const double rate = advance.seconds > 0 ? static_cast<double>(advance.done) / advance.seconds : 0;
  if (rate > 0) text += fmt::format(" · {:.{}f} a second", rate, rate < 99.95 ? 1 : 0);
  if (advance.failed > 0) text += fmt::format(" · {} failed", grouped(advance.failed));
  if (advance.total && rate > 0) {
    const auto left = static_cast<double>(std::max<std::int64_t>(0, *advance.total - advance.done));
    text += fmt::format(" · {} left", duration(left / rate));
  }
  return text;
}

Progress::Progress(bool wanted, std::function<std::optional<std::int64_t>()> total)
    : shown_(wanted && is_terminal(stderr)), total_(std::move(total)) {}

Progress::~Progress() {
  clear();
}

void Progress::advance(bool failed) {
  ++advance_.done;
  if (failed) ++advance_.failed;
  const Clock::time_point now = Clock::now();
  if (!shown_ || now - last_ < kInterval) return;
  last_ = now;
  advance_.seconds = std::chrono::duration<double>(now - start_).count();
  advance_.total = total_();
  fmt::print(stderr, "\r\033[K{}", describe(advance_));
  std::fflush(stderr);
  visible_ = true;
}

void Progress::clear() {
  if (!visible_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  visible_ = false;
}

}  // namespace vit::apps
