// What happens while a model is downloaded, for whoever shows it.
#pragma once

#include <cstdint>
#include <string>

namespace vit::io {

struct PullProgress {
  std::string file;
  std::uint64_t done = 0;   ///< bytes that are there, also from an earlier attempt
  std::uint64_t total = 0;  ///< bytes
};

/// Called by the thread that downloads, several times for each file. Does nothing by itself.
class PullObserver {
 public:
  virtual ~PullObserver() = default;
  virtual void on_progress(const PullProgress& /*progress*/) {}
  /// A sentence about something that takes time: another attempt, another process.
  virtual void on_note(const std::string& /*note*/) {}
};

}  // namespace vit::io
