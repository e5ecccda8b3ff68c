// Positions that attention itself looks at, for one image size. Internal; the exporter writes the same
// tables.
#pragma once

#include <vector>

#include "vit/backend/relative_bias.hpp"
#include "vit/backend/rotary.hpp"
#include "vit/config.hpp"
#include "vit/packed_model.hpp"
#include "vit/weights.hpp"

namespace vit {

struct AttentionPositions {
  AttentionPositions(const ModelConfig& config, const Model::Packed& weights, Size2 image);

  std::vector<backend::RotaryTable> rotary;     ///< one for all blocks, one for each, or none
  std::vector<backend::RelativeBias> relative;  ///< one for each block, or none

  const backend::RotaryTable* rotary_of(std::int64_t block) const {
    if (rotary.empty()) return nullptr;
    return &rotary[rotary.size() == 1 ? 0 : static_cast<std::size_t>(block)];
  }
  const backend::RelativeBias* relative_of(std::int64_t block) const {
    return relative.empty() ? nullptr : &relative[static_cast<std::size_t>(block)];
  }
};

/// Angles of the patches of a grid, rows first, where they are not learned: see RotaryEmbedding.
backend::RotaryTable rotary_table(const ModelConfig& config, Size2 grid);

/// The same of a block with learned frequencies [2, L, h, d/2].
backend::RotaryTable mixed_rotary_table(const ModelConfig& config, const Tensor& frequencies,
                                        std::int64_t block, Size2 grid);

/// The block's own table of relative positions, the shared one, or their sum (resampling is linear); either
/// may be empty.
Tensor relative_table(const WeightView& own, const WeightView& shared);

/// A table of relative positions [… + 3, h] of config.image_size for another grid, by the config's rule.
Tensor resample_relative_positions(const ModelConfig& config, const Tensor& table, Size2 grid);

}  // namespace vit
