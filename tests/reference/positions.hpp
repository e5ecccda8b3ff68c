// Position tables for other grids, from the definition of the interpolation. Naive, double precision.
#pragma once

#include "tests/reference/array.hpp"
#include "vit/config.hpp"

namespace vit::reference {

/// grid [H, W, D] -> [to.height, to.width, D] as torch.nn.functional.interpolate(mode="bicubic",
/// align_corners=False) defines it: destination pixel i has its centre at (i + 1/2) from/to − 1/2 of the
/// source, and every source pixel counts with Keys' cubic convolution kernel of its distance. Without
/// antialias a = −0.75 and edge pixels are repeated without end; with it a = −0.5, distances are divided by
/// from/to where that is above 1, and the weights of the pixels that exist are brought to a sum of 1.
Array resample(PositionResampling rule, const Array& grid, Size2 to);

/// table [1, prefix rows + N, D] made for config.image_size (empty: no positions) -> [T of image, D], with
/// zeros for prefix tokens that have no row.
Array positions(const ModelConfig& config, const Array& table, Size2 image);

/// Where the angles of RotaryEmbedding::mixed come from.
struct LearnedAngles {
  Array frequencies;  ///< [2, L, h, d/2], or empty
  std::int64_t block = 0;
};

/// x [B, T, D], patches behind `prefix` tokens: every pair of numbers of every head as the complex number a +
/// i b times e^(i angle), the angle as RotaryEmbedding says.
Array rotated(const ModelConfig& config, const Array& x, Size2 grid, const LearnedAngles& learned);

/// What is added to the scores [h, T, T]: row (q − k) of the table for the patches q and k, the last three
/// rows for class token to patch, patch to class token, class token to itself. The table is resampled as
/// transformers or timm does.
Array relative_bias(const ModelConfig& config, const Array& table, Size2 grid);

}  // namespace vit::reference
