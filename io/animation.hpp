// All frames of an animated GIF or WebP, as Pillow shows them. Internal to io/.
#pragma once

#include <cstdint>
#include <memory>

#include "io/image_formats.hpp"

namespace vit::io::internal {

/// Not thread-safe. The encoded bytes outlive it. Every member throws Error as decode_image, and
/// std::bad_alloc.
class Animation {
 public:
  virtual ~Animation() = default;

  /// Goes on to the next frame, the first at the first call; false behind the last.
  virtual bool advance() = 0;
  /// The whole picture as it is seen then, and its orientation.
  virtual const Image& picture() const = 0;
  /// When it appears, from the start.
  virtual double seconds() const = 0;
};

/// Null if the picture has only one frame, or is in a format whose animations are not known here.
std::unique_ptr<Animation> open_animation(const EncodedImage& encoded);

// Of these formats, whatever the number of frames is.
std::unique_ptr<Animation> animate_gif(const EncodedImage& encoded);
std::unique_ptr<Animation> animate_webp(const EncodedImage& encoded);

/// How many frames there are, as far as the container says.
std::int64_t count_gif_frames(const EncodedImage& encoded);
std::int64_t count_webp_frames(const EncodedImage& encoded);

}  // namespace vit::io::internal
