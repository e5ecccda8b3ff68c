// The fields of ModelConfig by name: the one list that files, metadata and printers walk.
#pragma once

#include "vit/config.hpp"

namespace vit {

/// Calls visit("image_size", config.image_size) and so on, in the order of the declaration. A new field does
/// not compile until it is listed here.
template <class Config, class Visit>
void for_each_field(Config& config, Visit&& visit) {
  auto& [image_size, patch_size, num_channels, hidden_size, num_layers, num_heads, num_kv_heads,
         ungrouped_blocks, mlp_size, activation, norm, layer_norm_eps, block, attention, patch_bias, qkv_bias,
         key_bias, qk_norm, attn_norm, proj_bias, layer_scale, mlp_layer_scale, mlp, mlp_norm, class_token,
         distillation, num_registers, position_embedding, position_resampling, rotary, rotary_layout,
         rotary_order, rotary_theta, rotary_offset, rotary_grid, relative_positions, relative_resampling,
         embed_norm, pre_norm, final_norm, pooling, pool_prefix, attn_pool_heads, attn_pool_mlp_size,
         num_classes, pre_logits_size, pooler_size, pooler_activation] = config;
  visit("image_size", image_size);
  visit("patch_size", patch_size);
  visit("num_channels", num_channels);
  visit("hidden_size", hidden_size);
  visit("num_layers", num_layers);
  visit("num_heads", num_heads);
  visit("num_kv_heads", num_kv_heads);
  visit("ungrouped_blocks", ungrouped_blocks);
  visit("mlp_size", mlp_size);
  visit("activation", activation);
  visit("norm", norm);
  visit("layer_norm_eps", layer_norm_eps);
  visit("block", block);
  visit("attention", attention);
  visit("patch_bias", patch_bias);
  visit("qkv_bias", qkv_bias);
  visit("key_bias", key_bias);
  visit("qk_norm", qk_norm);
  visit("attn_norm", attn_norm);
  visit("proj_bias", proj_bias);
  visit("layer_scale", layer_scale);
  visit("mlp_layer_scale", mlp_layer_scale);
  visit("mlp", mlp);
  visit("mlp_norm", mlp_norm);
  visit("class_token", class_token);
  visit("distillation", distillation);
  visit("num_registers", num_registers);
  visit("position_embedding", position_embedding);
  visit("position_resampling", position_resampling);
  visit("rotary", rotary);
  visit("rotary_layout", rotary_layout);
  visit("rotary_order", rotary_order);
  visit("rotary_theta", rotary_theta);
  visit("rotary_offset", rotary_offset);
  visit("rotary_grid", rotary_grid);
  visit("relative_positions", relative_positions);
  visit("relative_resampling", relative_resampling);
  visit("embed_norm", embed_norm);
  visit("pre_norm", pre_norm);
  visit("final_norm", final_norm);
  visit("pooling", pooling);
  visit("pool_prefix", pool_prefix);
  visit("attn_pool_heads", attn_pool_heads);
  visit("attn_pool_mlp_size", attn_pool_mlp_size);
  visit("num_classes", num_classes);
  visit("pre_logits_size", pre_logits_size);
  visit("pooler_size", pooler_size);
  visit("pooler_activation", pooler_activation);
}

}  // namespace vit
