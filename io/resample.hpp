// Pillow's Image.resize for 8-bit RGB, bit for bit: the references' networks were trained on its pixels.
#pragma once

#include <cstdint>
#include <string_view>

#include "io/image.hpp"
#include "vit/config.hpp"

namespace vit::io {

/// Pillow's resampling filters.
enum class Interpolation {
  nearest,   ///< the source pixel under the centre; no filter
  lanczos,   ///< sinc(x) sinc(x/3), |x| < 3
  bilinear,  ///< triangle, |x| < 1
  bicubic,   ///< Keys' cubic with a = -0.5, |x| < 2
  box,       ///< |x| < 0.5
  hamming,   ///< sinc(x) under a Hamming window, |x| < 1
};

std::string_view to_string(Interpolation interpolation);

/// Rows [top, top + height), columns [left, left + width) of a picture, in pixels.
struct Region {
  std::int64_t top = 0;
  std::int64_t left = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;

  bool operator==(const Region&) const = default;
};

/// The same pixels as Pillow's image.resize((size.width, size.height), filter), without reducing_gap.
/// When shrinking, the filter is widened (antialias). Sides are at most 2^31 - 1.
/// Thread-safe. Throws Error(invalid_argument) for empty pictures and sizes; std::bad_alloc.
Image resize(const Image& image, Size2 size, Interpolation filter);

/// Only a part of the result of resize(), e.g. what a centre crop keeps. Costs time and memory for that part
/// only. Throws Error(invalid_argument) also for a region that is empty or reaches outside of `size`.
Image resize_region(const Image& image, Size2 size, Interpolation filter, const Region& region);

}  // namespace vit::io
