// Prefix tokens and learned positions in front of the encoder.
#pragma once

#include <cstdint>

#include "vit/config.hpp"
#include "vit/tensor.hpp"

namespace vit {

/// The positions of an image's tokens [T, D]: rows of the prefix tokens as the table has them, zeros for
/// those that it has none for; rows of the patches resampled from the table's own grid by the config's rule.
/// `table` is [1, prefix positions + N of config.image_size, D]; it is not looked at where the config has no
/// table.
///
/// Resampling: torch.nn.functional.interpolate(mode="bicubic", align_corners=False) as transformers'
/// interpolate_pos_encoding and, with antialias=True, timm's resample_abs_pos_embed call it. Where both sides
/// of the grids agree the table is used unchanged.
Tensor position_table(const ModelConfig& config, const Tensor& table, Size2 image);

/// hidden_states [B, T, D] holds patch embeddings behind the places of the P prefix tokens:
/// hidden_states[:, :P] = prefix [P, D]; hidden_states += positions [T, D].
void add_positions(const Tensor& prefix, const Tensor& positions, const TensorView& hidden_states);

}  // namespace vit
