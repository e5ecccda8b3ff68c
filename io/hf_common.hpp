// What the families of Hugging Face have in common: encoder sizes and the classification head. Internal.
#pragma once

#include <cstdint>
#include <string_view>

#include "io/family.hpp"

namespace vit::io {

/// Defaults of the configuration class where they are not the same in every family.
struct HfDefaults {
  Size2 patch_size;
  double layer_norm_eps;
  Activation activation = Activation::gelu;
  std::int64_t hidden_size = 768;
  std::int64_t num_heads = 12;
};

/// image_size, patch_size, num_channels, hidden_size, num_hidden_layers, num_attention_heads, hidden_act,
/// layer_norm_eps, qkv_bias.
void read_hf_encoder(ConfigReader& config, const HfDefaults& defaults, ModelConfig& model);

/// Names of ViT and of those that took its modules over. `base`: what the backbone's names begin with in a
/// classifier's file.
NameTable hf_vit_names(std::string_view base);

/// A headless model's pooler, if the weights have one: pooler_output_size and pooler_act. Without one the
/// features are the class token, which a note says.
void read_hf_pooler(ConfigReader& config, const WeightFiles& files, std::string_view base,
                    FamilyConfig& result);

/// Decides by `architectures`, and by the tensors where that is missing or unknown, whether there is a head.
/// Sets architecture and notes. The tensors of the head are called `head`.weight and `head`.bias.
bool has_hf_head(const ConfigReader& config, const WeightFiles& files, const Family& family,
                 std::string_view head, FamilyConfig& result);

/// K: the rows of the head's weight [K, feature_size], at least as many as the config has labels. Call it
/// when the other sizes are known. A weight of a shape that cannot be leaves the config's number, for the
/// report.
std::int64_t count_hf_classes(ConfigReader& config, const WeightFiles& files, std::string_view head,
                              FamilyConfig& result);

}  // namespace vit::io
