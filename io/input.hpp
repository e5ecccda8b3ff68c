// One picture to be looked at: a file, or what came out of an archive, a video, an animation or a camera.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/image.hpp"
#include "vit/error.hpp"

namespace vit::io {

/// Most bytes of an encoded picture that are read.
inline constexpr std::size_t kMaxPictureBytes = std::size_t{1} << 30;

/// Where a picture lies in a video or an animation.
struct FramePosition {
  std::int64_t number = 0;  ///< from 0; those that are left out count too
  double seconds = 0;       ///< from the start, as the file times it
};

/// One picture, or why there is none. Every Input becomes one row.
struct Input {
  std::string name;  ///< as the user wrote it, or folder/name, or archive/member; bytes of any encoding
  std::optional<Error> error = {};
  std::optional<FramePosition> frame = {};
  std::vector<std::byte> bytes = {};  ///< the encoded picture; empty: it lies in the file `name`
  std::optional<Image> image = {};    ///< the decoded picture, of a frame
};

/// The name, and the frame if it is one: "clip.mp4, frame 12".
std::string describe(const Input& input);

}  // namespace vit::io
