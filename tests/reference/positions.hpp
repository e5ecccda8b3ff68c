// Position tables for other grids, from the definition of the interpolation. Naive, double precision.
#pragma once

#include "tests/reference/array.hpp"
#include "vit/config.hpp"

namespace vit::reference {

/// grid [H, W, D] -> [to.height, to.width, D] as torch.nn.functional.interpolate(mode="bicubic",
/// align_corners=False, antialias=False) defines it: destination pixel i has its centre at
/// (i + 1/2) from/to − 1/2 of the source, every source pixel (the edge ones repeated without end) counts with
/// Keys' cubic convolution kernel of its distance, a = −0.75.
Array resample_bicubic(const Array& grid, Size2 to);

/// table [1, 1 + N, D] made for config.image_size -> [1 + N of image, D].
Array positions(const ModelConfig& config, const Array& table, Size2 image);

}  // namespace vit::reference
