// What DINOv2's and DINOv3's own releases have in common: nearly timm's names, sizes shown by the tensors.
// Internal.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "io/name_map.hpp"
#include "io/release_sizes.hpp"
#include "vit/config.hpp"

namespace vit::io {

/// Where the two differ.
struct DinoRelease {
  Size2 patch_size;            ///< without weights
  std::string_view registers;  ///< the tensor of the register tokens
  std::string_view num_registers_key;
  std::int64_t num_registers;  ///< without weights
  Spelling gated_fc1;          ///< of a gated MLP, whose last layer is w3
  std::optional<std::int64_t> (*heads)(std::int64_t hidden_size);
};

/// Width, channels, patches, blocks, heads, registers and the MLP.
void read_dino_sizes(ReleaseSizes& sizes, const WeightFiles& files, const DinoRelease& release,
                     ModelConfig& model);

/// timm's names but for the registers, and those of a gated MLP's layers.
NameTable dino_names(const DinoRelease& release, Mlp mlp);

}  // namespace vit::io
