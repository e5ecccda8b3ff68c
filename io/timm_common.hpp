// What the families of timm have in common. Internal.
#pragma once

#include <cstdint>
#include <string_view>

#include "io/family.hpp"
#include "io/timm_architectures.hpp"
#include "io/timm_args.hpp"

namespace vit::io {

/// The same, or what timm calls it today.
std::string_view current_timm_name(std::string_view name);

/// The row of the config's architecture, with or without a tag. Throws Error(model_unsupported).
const TimmArchitecture& find_timm_architecture(const ConfigReader& config);

/// The family whose class that architecture is. Throws Error(model_unsupported).
const Family& select_timm_family(const ConfigReader& config);

/// What some of timm's classes call differently.
struct TimmNaming {
  std::string_view layer_scale1 = "{block}ls1.gamma";
  std::string_view layer_scale2 = "{block}ls2.gamma";
  bool qkv_apart = false;   ///< q_proj, k_proj and v_proj in place of qkv
  bool gate_apart = false;  ///< fc1_g and fc1_x in place of one fc1
};

/// The network's own names. Parts may be apart or not whatever is said here, which comes first.
NameTable timm_names(const TimmNaming& naming);

/// img_size, patch_size, in_chans, embed_dim, depth, num_heads, num_classes.
void read_timm_sizes(TimmArgs& args, ModelConfig& model);

/// norm_layer
void read_timm_norm(TimmArgs& args, ModelConfig& model);

/// global_pool, by all of its names.
Pooling read_timm_pooling(TimmArgs& args, std::string_view otherwise);

/// int(embed_dim * mlp_ratio), by that name or another's.
std::int64_t read_timm_mlp_width(TimmArgs& args, std::int64_t hidden_size);
std::int64_t timm_mlp_width(const TimmArgs& args, std::int64_t hidden_size, double ratio);

/// Architecture, class names, and an end to the arguments: those that only training looks at are allowed,
/// others that nobody has asked for are refused. Of a
/// named architecture (ConfigReader::is_named) image_size is what the weights' positions were made for.
void finish_timm_config(const ConfigReader& config, const WeightFiles& files, TimmArgs& args,
                        FamilyConfig& result);

}  // namespace vit::io
