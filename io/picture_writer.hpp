// Pictures as PNG or JPEG files in memory.
#pragma once

#include <cstddef>
#include <vector>

#include "io/image.hpp"

namespace vit::io {

/// 8-bit RGB, its orientation ignored. Thread-safe. Throws Error: invalid_argument (pixels that are no
/// picture), internal; std::bad_alloc.
std::vector<std::byte> encode_png(const Image& image);

/// The same as a JPEG of quality 95, smaller and no longer exact.
std::vector<std::byte> encode_jpeg(const Image& image);

}  // namespace vit::io
