// Models from the hub, with what happens shown on stderr.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "io/hub_pull.hpp"

namespace vit::apps {

/// Bytes and rate on a line of their own that is written over, on a terminal only; notes as lines. Nothing if
/// `quiet`.
class DownloadDisplay : public io::PullObserver {
 public:
  explicit DownloadDisplay(bool quiet);
  ~DownloadDisplay() override;
  DownloadDisplay(const DownloadDisplay&) = delete;
  DownloadDisplay& operator=(const DownloadDisplay&) = delete;

  void on_progress(const io::PullProgress& progress) override;
  void on_note(const std::string& note) override;

 private:
  using Clock = std::chrono::steady_clock;

  void clear_line();

  bool quiet_;
  bool terminal_;
  bool line_shown_ = false;
  std::string file_;
  Clock::time_point start_;
  Clock::time_point shown_;
  std::uint64_t first_byte_ = 0;
};

/// "346.3 MB"; up to 99 kB in bytes.
std::string size_text(std::uint64_t bytes);

/// io::pull_model, shown.
std::filesystem::path download(const io::PullRequest& request, bool quiet);

/// The folder of a model in the cache, which is fetched only if it is not complete there. Throws Error as
/// io::pull_model.
std::filesystem::path download_missing(const io::HubId& id, bool quiet);

}  // namespace vit::apps
