#include "apps/download.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "apps/common.hpp"
#include "io/hub_cache.hpp"

namespace vit::apps {

DownloadDisplay::DownloadDisplay(bool quiet) : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) == 1) {}

DownloadDisplay::~DownloadDisplay() {
  clear_line();
}

void DownloadDisplay::on_progress(const io::PullProgress& progress) {
  constexpr auto kInterval = std::chrono::milliseconds(100);
  if (quiet_ || !terminal_) return;
  const Clock::time_point now = Clock::now();
  if (file_ != progress.file || progress.done < first_byte_) {
    file_ = progress.file;
    first_byte_ = progress.done;
    start_ = now;
  } else if (now - shown_ < kInterval && progress.done < progress.total) {
    return;
  }
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = seconds > 0 ? static_cast<double>(progress.done - first_byte_) / seconds : 0;
  fmt::print(stderr, "\r\033[K{}  {} of {}  {}/s", progress.file, size_text(progress.done),
             size_text(progress.total), size_text(static_cast<std::uint64_t>(rate)));
  std::fflush(stderr);
  line_shown_ = true;
}

void DownloadDisplay::on_note(const std::string& note) {
  if (quiet_) return;
  clear_line();
  print_error("note: " + note);
}

void DownloadDisplay::clear_line() {
  if (line_shown_) fmt::print(stderr, "\r\033[K");
  line_shown_ = false;
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t kLargest = 100'000;  // in bytes
  if (bytes < kLargest) return fmt::format("{} bytes", bytes);
  const double megabytes = static_cast<double>(bytes) / 1e6;
  return megabytes < 1000 ? fmt::format("{:.1f} MB", megabytes) : fmt::format("{:.2f} GB", megabytes / 1000);
}

std::filesystem::path download(const io::PullRequest& request, bool quiet) {
  DownloadDisplay display(quiet);
  return io::pull_model(request, io::read_hub_settings(), display);
}

std::filesystem::path download_missing(const io::HubId& id, bool quiet) {
  try {
    return io::find_in_cache(id, io::read_hub_settings().cache);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::model_not_found) throw;
  }
  return download({.id = id}, quiet);
}

}  // namespace vit::apps
