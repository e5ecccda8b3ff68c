// Resizing in floating point, as PyTorch does it to tensors: nothing is rounded to 8 bits. Internal.
#pragma once

#include <span>

#include "io/image.hpp"
#include "io/resample.hpp"

namespace vit::io {

/// The same numbers as torchvision's resize(image * scale, size, filter, antialias=True) of a float tensor,
/// in a region of the result: `dst` [3, region.height, region.width]. Filters are bilinear, bicubic and
/// nearest (NEAREST_EXACT). Thread-safe. Throws Error(invalid_argument) as
/// resize_region, and for another filter.
void resize_float(const Image& image, float scale, Size2 size, Interpolation filter, const Region& region,
                  std::span<float> dst);

}  // namespace vit::io
