// The packed weights behind Model; what Session and its stages read. Internal to vit/.
#pragma once

#include <optional>
#include <vector>

#include "vit/backend/linear.hpp"
#include "vit/backend/norm.hpp"
#include "vit/model.hpp"

namespace vit {

struct PackedBlock {
  backend::NormParameters norm1;
  backend::PackedLinear qkv;  ///< [3 D, D], rows of q scaled by 1/√d unless a norm comes between
  std::optional<backend::NormParameters> q_norm;    ///< [query size], scaled by its 1/√
  std::optional<backend::NormParameters> k_norm;    ///< [query size]
  float lambda = 0;                                 ///< λ of differential attention
  std::optional<backend::NormParameters> sub_norm;  ///< [d], scaled by 1 − λ's initial value
  Tensor relative_positions;  ///< [… + 3, h] of config.image_size: the block's, the shared ones, or their sum
  std::optional<backend::NormParameters> attn_norm;  ///< [D]
  backend::PackedLinear proj;                        ///< [D, D], rows scaled by the first layer scale
  std::optional<backend::NormParameters> norm2;
  std::optional<backend::PackedLinear> gate;        ///< [F, D]
  backend::PackedLinear fc1;                        ///< [F, D]
  std::optional<backend::NormParameters> mlp_norm;  ///< [F]
  backend::PackedLinear fc2;                        ///< [D, F], rows scaled by the second layer scale
};

struct PackedAttentionPool {
  Tensor q;  ///< [D]: (latent Wqᵀ + b) / √(head size), the same for every image
  backend::PackedLinear kv;
  backend::PackedLinear proj;
  backend::NormParameters norm;
  backend::PackedLinear fc1;
  backend::PackedLinear fc2;
};

struct Model::Packed {
  std::unique_ptr<LargeMemoryPool> memory;  ///< of all packed weights
  Tensor prefix;                      ///< [prefix tokens, D]: class token, distillation token, registers
  Tensor pos_embed = {};              ///< empty without a table
  backend::PackedLinear patch_embed;  ///< [D, C P P]
  std::optional<backend::NormParameters> embed_norm = {};
  std::optional<backend::NormParameters> norm_pre = {};
  Tensor rotary_frequencies = {};  ///< [2, L, h, d/2] of mixed rotary positions
  std::vector<PackedBlock> blocks = {};
  std::vector<PackedBlock> twins = {};               ///< beside each of them, or none
  std::optional<backend::NormParameters> norm = {};  ///< the final one, wherever it stands
  std::optional<PackedAttentionPool> attn_pool = {};
  std::optional<backend::PackedLinear> pooler = {};
  std::optional<backend::PackedLinear> pre_logits = {};
  std::optional<backend::PackedLinear> head = {};
  std::optional<backend::PackedLinear> head_dist = {};
};

}  // namespace vit
