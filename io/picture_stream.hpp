// A file that holds many pictures, given out one by one. Internal to io/.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "io/input.hpp"

namespace vit::io {

/// Which frames of videos, animations and cameras become pictures.
struct FrameOptions {
  std::optional<std::int64_t> every =
      {};                          ///< each so many-th; nothing: all of a video, the first of an animation
  double start = 0;                ///< seconds
  std::optional<double> end = {};  ///< seconds; frames from there on are left out

  /// Whether no frame from this one on is wanted.
  bool is_over(const FramePosition& frame) const { return end && frame.seconds >= *end; }
  /// Whether this one is, if it is not over.
  bool takes(const FramePosition& frame) const {
    return frame.seconds >= start && frame.number % every.value_or(1) == 0;
  }
};

/// Not thread-safe.
class PictureStream {
 public:
  virtual ~PictureStream() = default;

  /// The next one, or nothing at the end. A file that cannot be read, or not further, gives an Input with an
  /// error, which is the last.
  virtual std::optional<Input> next() = 0;
  /// About how many are still to come, where the file says it.
  virtual std::optional<std::int64_t> remaining() const { return std::nullopt; }
};

/// The stream behind a name, by its ending (or camera:N); null for anything else, which is then one picture.
std::unique_ptr<PictureStream> open_picture_stream(const std::string& name, const FrameOptions& frames);

}  // namespace vit::io
