// The packed weights behind Model; what Session and its stages read. Internal to vit/.
#pragma once

#include <optional>
#include <vector>

#include "vit/backend/layer_norm.hpp"
#include "vit/backend/linear.hpp"
#include "vit/backend/patch_convolution.hpp"
#include "vit/model.hpp"

namespace vit {

struct PackedBlock {
  backend::NormParameters norm1;
  backend::PackedLinear qkv;   ///< [3 D, D], rows of q scaled by 1/√d
  backend::PackedLinear proj;  ///< [D, D], rows scaled by the first layer scale
  backend::NormParameters norm2;
  backend::PackedLinear fc1;  ///< [F, D]
  backend::PackedLinear fc2;  ///< [D, F], rows scaled by the second layer scale
};

struct Model::Packed {
  Tensor cls_token;
  Tensor pos_embed;
  backend::PatchKernel patch_embed;
  std::vector<PackedBlock> blocks;
  backend::NormParameters norm;
  std::optional<backend::PackedLinear> pooler;
  std::optional<backend::PackedLinear> head;
};

}  // namespace vit
