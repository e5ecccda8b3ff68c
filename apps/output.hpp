// Where results go: standard output, or a file that appears complete or not at all.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "vit/file.hpp"

namespace vit::apps {

/// Every member throws Error(output_unwritable).
class Output {
 public:
  /// `path` empty or "-": standard output. A file is created at once, so that a path that cannot be written
  /// shows before the work begins.
  explicit Output(const std::string& path, std::optional<KeptUnfinished> kept = std::nullopt);

  void write(std::string_view text);
  /// Makes what was written so far visible to a reader of standard output.
  void flush();
  /// Once, in the end.
  void finish();

 private:
  std::unique_ptr<AtomicFile> file_;
};

}  // namespace vit::apps
