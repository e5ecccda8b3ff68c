// Class token and learned positions in front of the encoder.
#pragma once

#include <cstdint>

#include "vit/config.hpp"
#include "vit/tensor.hpp"

namespace vit {

/// The position table for an image: rows of the prefix tokens as they are, rows of the patches resampled from
/// the table's own grid by the config's rule. `table` is [1, T of config.image_size, D]; the result [T of
/// image, D].
///
/// Resampling: torch.nn.functional.interpolate(mode="bicubic", align_corners=False) as transformers'
/// interpolate_pos_encoding calls it. Where both sides of the grids agree the table is used unchanged.
Tensor position_table(const ModelConfig& config, const Tensor& table, Size2 image);

/// hidden_states [B, T, D] holds patch embeddings behind the class token's place:
/// hidden_states[:, 0] = cls_token + position[0], hidden_states[:, 1 + n] += position[1 + n].
void add_positions(const Tensor& cls_token, const Tensor& positions, Tensor& hidden_states);

}  // namespace vit
