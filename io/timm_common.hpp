// What the families of timm have in common. Internal.
#pragma once

#include <cstdint>
#include <string_view>

#include "io/family.hpp"
#include "io/timm_architectures.hpp"
#include "io/timm_args.hpp"

namespace vit::io {

/// The row of the config's architecture, with or without a tag. Throws Error(model_unsupported).
const TimmArchitecture& find_timm_architecture(const ConfigReader& config);

/// The family whose class that architecture is. Throws Error(model_unsupported).
const Family& select_timm_family(const ConfigReader& config);

/// What layer scales are called in a block.
struct TimmLayerScales {
  std::string_view first;
  std::string_view second;
};

/// The network's own names, and those of parts that some of timm's classes keep apart.
NameTable timm_names(const TimmLayerScales& layer_scales);

/// img_size, patch_size, in_chans, embed_dim, depth, num_heads, num_classes.
void read_timm_sizes(TimmArgs& args, ModelConfig& model);

/// norm_layer
void read_timm_norm(TimmArgs& args, ModelConfig& model);

/// int(embed_dim * mlp_ratio), by that name or another's.
std::int64_t read_timm_mlp_width(TimmArgs& args, std::int64_t hidden_size);
std::int64_t timm_mlp_width(const TimmArgs& args, std::int64_t hidden_size, double ratio);

/// Architecture, class names, and an end to the arguments: those that only training looks at are allowed,
/// others that nobody has asked for are refused.
void finish_timm_config(const ConfigReader& config, TimmArgs& args, FamilyConfig& result);

}  // namespace vit::io
