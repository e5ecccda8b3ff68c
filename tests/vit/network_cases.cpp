#include "tests/vit/network_cases.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <stdexcept>

#include "tests/reference/layers.hpp"
#include "tests/support/random.hpp"

namespace vit::test {
namespace {

/// Two blocks, 3 x 3 patches of 8 x 8, three heads of four: what the cases below change.
ModelConfig small() {
  ModelConfig config;
  config.image_size = {24, 24};
  config.patch_size = {8, 8};
  config.hidden_size = 12;
  config.num_layers = 2;
  config.num_heads = 3;
  config.mlp_size = 20;
  config.num_classes = 5;
  return config;
}

template <class Change>
NetworkCase changed(std::string name, Change change) {
  NetworkCase c{.name = std::move(name), .config = small()};
  change(c, c.config);
  return c;
}

void set_width(ModelConfig& config, std::int64_t D, std::int64_t heads, std::int64_t F) {
  config.hidden_size = D;
  config.num_heads = heads;
  config.mlp_size = F;
}

using Cases = std::vector<NetworkCase>;

void add_shapes(Cases& cases) {
  cases.push_back(changed("small", [](auto&, auto&) {}));
  cases.push_back(changed("one_patch", [](auto&, auto& m) { m.image_size = {8, 8}; }));
  cases.push_back(changed("one_of_everything", [](auto&, auto& m) {
    m.image_size = m.patch_size = {1, 1};
    m.num_channels = m.num_layers = m.num_classes = 1;
    set_width(m, 3, 1, 1);  // a layer norm of fewer leaves no more than signs
  }));
  cases.push_back(changed("batch_3", [](auto& c, auto&) { c.batch = 3; }));
  cases.push_back(changed("prime_width", [](auto&, auto& m) { set_width(m, 13, 1, 29); }));
  cases.push_back(changed("prime_width_batch_3", [](auto& c, auto& m) {
    set_width(m, 47, 1, 101);
    c.batch = 3;
  }));
  cases.push_back(changed("heads_of_one", [](auto&, auto& m) { set_width(m, 13, 13, 7); }));
  cases.push_back(changed("5_heads_of_7", [](auto& c, auto& m) {
    set_width(m, 35, 5, 53);
    c.batch = 2;
  }));
  cases.push_back(changed("6_heads_of_64", [](auto&, auto& m) { set_width(m, 384, 6, 768); }));
  cases.push_back(changed("patches_not_square", [](auto& c, auto& m) {
    m.image_size = {24, 40};
    m.patch_size = {8, 4};
    c.batch = 3;
  }));
  cases.push_back(changed("image_not_a_multiple", [](auto& c, auto& m) {
    m.image_size = {29, 35};
    m.patch_size = {7, 9};
    c.batch = 2;
  }));
  cases.push_back(changed("channels_1", [](auto&, auto& m) { m.num_channels = 1; }));
  cases.push_back(changed("channels_5", [](auto& c, auto& m) {
    m.num_channels = 5;
    c.batch = 2;
  }));
  cases.push_back(changed("patch_16", [](auto&, auto& m) {
    m.image_size = {48, 32};
    m.patch_size = {16, 16};
  }));
  cases.push_back(changed("deep", [](auto&, auto& m) { m.num_layers = 7; }));
  cases.push_back(changed("thousand_classes", [](auto& c, auto& m) {
    m.num_classes = 1000;
    c.batch = 2;
  }));
}

void add_options(Cases& cases) {
  for (const Activation activation : reference::every_activation()) {
    cases.push_back(changed("act_" + std::string(to_string(activation)), [&](auto& c, auto& m) {
      m.activation = activation;
      c.mlp_gain = 3;
    }));
    cases.push_back(changed("act_far_" + std::string(to_string(activation)), [&](auto& c, auto& m) {
      m.activation = activation;
      c.mlp_gain = 300;
    }));
    cases.push_back(changed("act_gated_" + std::string(to_string(activation)), [&](auto& c, auto& m) {
      m.mlp = Mlp::gated;
      m.activation = activation;
      c.mlp_gain = 3;
    }));
  }
  cases.push_back(changed("act_of_pooling_laplace", [](auto& c, auto& m) {
    m.pooling = Pooling::attention;
    m.activation = Activation::laplace;
    c.batch = 2;
  }));
  cases.push_back(changed("act_of_two_kinds", [](auto&, auto& m) {
    m.num_classes = 0;
    m.pooler_size = 11;
    m.activation = Activation::relu6;
    m.pooler_activation = Activation::gelu_10;
  }));
  cases.push_back(changed("no_qkv_bias", [](auto&, auto& m) { m.qkv_bias = false; }));
  cases.push_back(changed("layer_scale", [](auto&, auto& m) { m.layer_scale = true; }));
  cases.push_back(changed("cls_and_mean", [](auto& c, auto& m) {
    m.pooling = Pooling::cls_and_mean;
    c.batch = 3;
  }));
  cases.push_back(changed("no_head", [](auto&, auto& m) { m.num_classes = 0; }));
  cases.push_back(changed("pooler", [](auto& c, auto& m) {
    m.num_classes = 0;
    m.pooler_size = 17;
    c.batch = 2;
  }));
  cases.push_back(changed("pooler_beside_a_head", [](auto&, auto& m) { m.pooler_size = 17; }));
  cases.push_back(changed("pre_logits", [](auto& c, auto& m) {
    m.pre_logits_size = 13;
    c.batch = 2;
  }));
  cases.push_back(changed("pooler_relu", [](auto&, auto& m) {
    m.num_classes = 0;
    m.pooler_size = 11;
    m.pooler_activation = Activation::relu;
  }));
  cases.push_back(changed("eps_big", [](auto&, auto& m) { m.layer_norm_eps = 0.1F; }));
  cases.push_back(changed("eps_of_the_variance", [](auto& c, auto& m) {
    m.layer_norm_eps = 1e-6F;
    c.embedding_sigma = 1e-3;
  }));
  cases.push_back(changed("variance_tiny_eps_tinier", [](auto& c, auto& m) {
    m.layer_norm_eps = 1e-12F;
    c.embedding_sigma = 1e-3;
  }));
  cases.push_back(changed("outlier_channel", [](auto& c, auto& m) {
    set_width(m, 64, 4, 96);
    c.outlier = 300;
  }));
}

void add_other_image_sizes(Cases& cases) {
  cases.push_back(changed("positions_up", [](auto& c, auto&) { c.image = {40, 56}; }));
  cases.push_back(changed("positions_down", [](auto& c, auto& m) {
    m.image_size = {72, 56};
    c.image = {24, 40};
  }));
  cases.push_back(changed("positions_same_count", [](auto& c, auto& m) {
    m.image_size = {32, 32};
    c.image = {16, 64};
    c.batch = 2;
  }));
  cases.push_back(changed("positions_one_patch", [](auto& c, auto&) { c.image = {9, 15}; }));
  cases.push_back(changed("positions_from_one_patch", [](auto& c, auto& m) {
    m.image_size = {8, 8};
    c.image = {16, 24};
  }));
  cases.push_back(changed("same_grid_other_pixels", [](auto& c, auto&) { c.image = {31, 25}; }));
  cases.push_back(changed("several_tiles", [](auto& c, auto& m) {  // of attention, the last one lower
    m.image_size = {37, 31};
    m.patch_size = {1, 1};
    m.num_channels = 1;
    m.num_layers = 1;
    set_width(m, 12, 2, 16);
    m.pooling = Pooling::cls_and_mean;
    c.batch = 2;
  }));
}

void add_tokens(Cases& cases) {
  cases.push_back(changed("registers", [](auto& c, auto& m) {
    m.num_registers = 3;
    c.batch = 2;
  }));
  cases.push_back(changed("registers_without_positions", [](auto& c, auto& m) {
    m.num_registers = 4;
    m.position_embedding = PositionEmbedding::class_and_patches;
    m.position_resampling = PositionResampling::bicubic_antialias;
    m.pooling = Pooling::cls_and_mean;
    c.image = {40, 56};
    c.batch = 2;
  }));
  cases.push_back(changed("positions_of_patches_only", [](auto&, auto& m) {
    m.num_registers = 2;
    m.position_embedding = PositionEmbedding::patches;
  }));
  cases.push_back(
      changed("no_positions", [](auto&, auto& m) { m.position_embedding = PositionEmbedding::none; }));
  cases.push_back(changed("no_class_token", [](auto& c, auto& m) {
    m.class_token = false;
    m.pooling = Pooling::mean;
    c.batch = 3;
  }));
  cases.push_back(changed("registers_alone", [](auto& c, auto& m) {
    m.class_token = false;
    m.num_registers = 4;
    m.pooling = Pooling::mean;
    m.final_norm = FinalNorm::after_pooling;
    c.batch = 2;
  }));
  cases.push_back(
      changed("distillation_token", [](auto&, auto& m) { m.distillation = Distillation::token; }));
  cases.push_back(changed("distillation_head", [](auto& c, auto& m) {
    m.distillation = Distillation::head;
    c.batch = 2;
  }));
  cases.push_back(changed("antialias_down", [](auto& c, auto& m) {
    m.image_size = {72, 56};
    m.position_resampling = PositionResampling::bicubic_antialias;
    c.image = {24, 40};
  }));
}

void add_norms_and_pooling(Cases& cases) {
  cases.push_back(changed("qk_norm", [](auto& c, auto& m) {
    m.qk_norm = true;
    c.batch = 2;
  }));
  cases.push_back(changed("qk_norm_no_bias", [](auto&, auto& m) {
    set_width(m, 35, 5, 53);
    m.qk_norm = true;
    m.qkv_bias = false;
    m.layer_norm_eps = 1e-2F;
  }));
  cases.push_back(changed("qk_norm_6_heads_of_64", [](auto&, auto& m) {
    set_width(m, 384, 6, 768);
    m.qk_norm = true;
  }));
  cases.push_back(changed("pre_norm", [](auto&, auto& m) {
    m.pre_norm = true;
    m.patch_bias = false;
  }));
  cases.push_back(changed("mean_normed_before", [](auto&, auto& m) { m.pooling = Pooling::mean; }));
  cases.push_back(changed("mean_normed_after", [](auto& c, auto& m) {
    m.pooling = Pooling::mean;
    m.final_norm = FinalNorm::after_pooling;
    c.batch = 3;
  }));
  cases.push_back(changed("mean_never_normed", [](auto&, auto& m) {
    m.pooling = Pooling::mean;
    m.final_norm = FinalNorm::none;
  }));
  cases.push_back(changed("cls_normed_after", [](auto& c, auto& m) {
    m.final_norm = FinalNorm::after_pooling;
    c.batch = 2;
  }));
  cases.push_back(changed("gated_mlp", [](auto& c, auto& m) {
    m.mlp = Mlp::gated;
    m.activation = Activation::silu;
    m.layer_scale = true;
    c.batch = 2;
  }));
  for (const Pooling pooling : {Pooling::max, Pooling::mean_max}) {
    const std::string name = "pooling_" + std::string(to_string(pooling));
    cases.push_back(changed(name, [&](auto& c, auto& m) {
      m.pooling = pooling;
      m.final_norm = FinalNorm::after_pooling;
      m.num_registers = 2;
      c.batch = 3;
    }));
    cases.push_back(changed(name + "_of_all_tokens", [&](auto&, auto& m) {
      m.pooling = pooling;
      m.pool_prefix = true;
    }));
  }
  cases.push_back(changed("attention_pooling", [](auto& c, auto& m) {
    m.class_token = false;
    m.pooling = Pooling::attention;
    c.batch = 3;
  }));
  cases.push_back(changed("attention_pooling_behind_registers", [](auto& c, auto& m) {
    m.num_registers = 2;
    m.pooling = Pooling::attention;
    m.final_norm = FinalNorm::after_pooling;
    c.image = {40, 56};
    c.batch = 2;
  }));
}

void add_positions_in_attention(Cases& cases) {
  cases.push_back(changed("rotary", [](auto& c, auto& m) {
    m.position_embedding = PositionEmbedding::none;
    m.rotary = RotaryEmbedding::centred;
    m.num_registers = 2;
    m.key_bias = false;
    c.image = {40, 56};
    c.batch = 2;
  }));
  cases.push_back(changed("rotary_adjacent", [](auto& c, auto& m) {
    set_width(m, 48, 3, 20);
    m.rotary = RotaryEmbedding::indexed;
    m.rotary_layout = RotaryLayout::adjacent;
    m.rotary_order = RotaryOrder::columns_first;
    m.rotary_offset = 1;
    m.rotary_theta = 10000;
    m.rotary_grid = {5, 4};
    c.batch = 2;
  }));
  cases.push_back(changed("rotary_own_grid", [](auto&, auto& m) {
    m.rotary = RotaryEmbedding::indexed;
    m.qk_norm = true;
    m.class_token = false;
    m.pooling = Pooling::mean;
  }));
  cases.push_back(changed("relative_per_block", [](auto& c, auto& m) {
    m.position_embedding = PositionEmbedding::none;
    m.relative_positions = RelativePositions::per_block;
    m.key_bias = false;
    c.batch = 2;
  }));
  cases.push_back(changed("relative_shared", [](auto& c, auto& m) {
    m.relative_positions = RelativePositions::shared;
    m.relative_resampling = RelativeResampling::bilinear;
    c.image = {40, 56};
  }));
  cases.push_back(changed("relative_both_not_square", [](auto&, auto& m) {
    m.image_size = {24, 40};
    m.relative_positions = RelativePositions::both;
  }));
  cases.push_back(changed("relative_several_tiles", [](auto& c, auto& m) {
    m.image_size = {37, 31};
    m.patch_size = {1, 1};
    m.num_channels = m.num_layers = 1;
    set_width(m, 12, 2, 16);
    m.relative_positions = RelativePositions::per_block;
    c.batch = 2;
  }));
  cases.push_back(changed("inner_norms", [](auto& c, auto& m) {
    m.attn_norm = m.mlp_norm = true;
    m.mlp = Mlp::gated;
    c.batch = 2;
  }));
}

void add_block_forms(Cases& cases) {
  cases.push_back(changed("rms_norm", [](auto& c, auto& m) {
    m.norm = NormKind::rms;
    m.layer_norm_eps = 1e-5F;
    m.embed_norm = m.pre_norm = m.qk_norm = true;
    c.batch = 2;
  }));
  cases.push_back(changed("rms_norm_no_biases", [](auto& c, auto& m) {  // as AIMv2
    set_width(m, 47, 1, 101);
    m.norm = NormKind::rms;
    m.layer_norm_eps = 1e-2F;
    m.embed_norm = true;
    m.qkv_bias = m.proj_bias = m.class_token = false;
    m.mlp = Mlp::gated;
    m.activation = Activation::silu;
    m.pooling = Pooling::mean;
    c.batch = 3;
  }));
  cases.push_back(changed("rms_norm_within_and_behind", [](auto& c, auto& m) {
    m.norm = NormKind::rms;
    m.attn_norm = m.mlp_norm = true;
    m.pooling = Pooling::attention;
    m.final_norm = FinalNorm::after_pooling;
    c.batch = 2;
  }));
  cases.push_back(changed("embed_norm", [](auto& c, auto& m) {
    m.embed_norm = true;
    m.num_registers = 2;
    c.image = {40, 56};
    c.batch = 2;
  }));
  cases.push_back(changed("no_projection_biases", [](auto&, auto& m) { m.proj_bias = false; }));
  cases.push_back(changed("layer_scale_of_attention_alone", [](auto&, auto& m) {
    m.layer_scale = true;
    m.mlp_layer_scale = false;
  }));
  cases.push_back(changed("post_norm", [](auto& c, auto& m) {
    m.block = BlockForm::post_norm;
    c.batch = 2;
  }));
  cases.push_back(changed("post_norm_key_bias_mean", [](auto& c, auto& m) {
    m.block = BlockForm::post_norm;
    m.norm = NormKind::rms;
    m.key_bias = false;
    m.pooling = Pooling::mean;
    m.final_norm = FinalNorm::after_pooling;
    c.batch = 2;
  }));
  cases.push_back(changed("parallel", [](auto& c, auto& m) {
    m.block = BlockForm::parallel;
    m.layer_scale = m.qk_norm = true;
    c.batch = 2;
  }));
  cases.push_back(changed("parallel_no_qkv_bias", [](auto&, auto& m) {
    m.block = BlockForm::parallel;
    m.norm = NormKind::rms;
    m.qkv_bias = m.proj_bias = false;
  }));
  cases.push_back(changed("parallel_fused", [](auto& c, auto& m) {
    m.block = BlockForm::parallel_fused;
    m.layer_scale = true;
    c.batch = 2;
  }));
  cases.push_back(changed("twin", [](auto& c, auto& m) {
    m.block = BlockForm::twin;
    m.layer_scale = true;
    c.batch = 2;
  }));
  cases.push_back(changed("twin_gated_rotary", [](auto&, auto& m) {
    m.block = BlockForm::twin;
    m.mlp = Mlp::gated;
    m.rotary = RotaryEmbedding::indexed;
    m.pooling = Pooling::mean;
  }));
}

void add_attention_forms(Cases& cases) {
  cases.push_back(changed("differential", [](auto& c, auto& m) {
    m.attention = AttentionForm::differential;
    m.layer_norm_eps = 1e-6F;
    c.batch = 3;
  }));
  cases.push_back(changed("differential_parallel_qk_norm", [](auto& c, auto& m) {
    set_width(m, 36, 3, 29);
    m.attention = AttentionForm::differential;
    m.block = BlockForm::parallel_fused;
    m.qk_norm = m.layer_scale = true;
    m.qkv_bias = false;
    m.num_registers = 1;
    m.class_token = false;
    m.pooling = Pooling::mean;
    c.batch = 2;
  }));
  cases.push_back(changed("differential_several_tiles", [](auto& c, auto& m) {
    m.image_size = {37, 31};
    m.patch_size = {1, 1};
    m.num_channels = m.num_layers = 1;
    set_width(m, 12, 2, 16);
    m.attention = AttentionForm::differential;
    m.attn_norm = true;
    c.batch = 2;
  }));
  cases.push_back(changed("grouped_heads", [](auto& c, auto& m) {
    m.num_layers = 5;
    set_width(m, 24, 6, 20);
    m.num_kv_heads = 2;
    m.ungrouped_blocks = 1;
    m.qk_norm = true;
    m.rotary = RotaryEmbedding::centred;
    c.batch = 2;
  }));
  cases.push_back(changed("grouped_heads_everywhere", [](auto&, auto& m) {
    m.num_kv_heads = 1;
    m.qkv_bias = false;
  }));
  cases.push_back(changed("rotary_mixed", [](auto& c, auto& m) {
    m.position_embedding = PositionEmbedding::patches;
    m.rotary = RotaryEmbedding::mixed;
    m.rotary_layout = RotaryLayout::adjacent;
    m.rotary_order = RotaryOrder::columns_first;
    c.image = {40, 56};
    c.batch = 2;
  }));
  cases.push_back(changed("rotary_mixed_halves", [](auto&, auto& m) {
    set_width(m, 48, 3, 20);
    m.rotary = RotaryEmbedding::mixed;
    m.num_registers = 2;
    m.pooling = Pooling::mean;
  }));
  cases.push_back(changed("relative_geometric_up", [](auto& c, auto& m) {
    m.relative_positions = RelativePositions::both;
    m.relative_resampling = RelativeResampling::geometric;
    c.image = {56, 40};
  }));
  cases.push_back(changed("relative_geometric_one_side", [](auto& c, auto& m) {
    m.image_size = {24, 40};
    m.relative_positions = RelativePositions::shared;
    m.relative_resampling = RelativeResampling::geometric;
    c.image = {56, 40};
    c.batch = 2;
  }));
  cases.push_back(changed("relative_geometric_down", [](auto& c, auto& m) {
    m.image_size = {56, 72};
    m.relative_positions = RelativePositions::per_block;
    m.relative_resampling = RelativeResampling::geometric;
    c.image = {24, 8};
  }));
}

void add_pools_of_all_tokens(Cases& cases) {
  cases.push_back(changed("mean_of_all_tokens", [](auto& c, auto& m) {
    m.pooling = Pooling::mean;
    m.pool_prefix = true;
    m.num_registers = 2;
    c.batch = 2;
  }));
  cases.push_back(changed("attention_pooling_of_all_tokens", [](auto& c, auto& m) {  // as Perception Encoders
    m.pooling = Pooling::attention;
    m.pool_prefix = true;
    m.attn_pool_heads = 2;
    m.attn_pool_mlp_size = 31;
    c.batch = 2;
  }));
  cases.push_back(changed("attention_pooling_of_more_heads", [](auto& c, auto& m) {
    m.image_size = {8, 8};
    set_width(m, 24, 1, 20);
    m.pooling = Pooling::attention;
    m.attn_pool_heads = 24;
    c.batch = 2;
  }));
}

/// Standard deviation and mean of a tensor of that name.
struct Distribution {
  double sigma;
  double mean = 0;
};

Distribution distribution(const NetworkCase& c, const TensorSpec& spec) {
  const std::string& name = spec.name;
  const auto fan_in = static_cast<double>(element_count(spec.shape) / spec.shape.front());
  if (name.ends_with("_token") || name == "pos_embed") return {c.embedding_sigma};
  if (name == "attn_pool.latent") return {1};
  if (name == "patch_embed.proj.weight") return {c.embedding_sigma / std::sqrt(fan_in)};
  if (name == "patch_embed.proj.bias") return {c.embedding_sigma};
  if (name.ends_with(".bias") || name.ends_with("_bias")) return {0.3};
  if (name.ends_with("relative_position_bias_table") || name == "rope.freqs") return {1};
  if (name.find(".lambda_") != std::string::npos) return {0.5};
  if (name.ends_with("qkv.weight") || name.ends_with("attn.q.weight") || name.ends_with("attn.kv.weight") ||
      name == "attn_pool.q.weight" || name == "attn_pool.kv.weight")
    return {2 / std::sqrt(fan_in)};
  if (name.ends_with("fc1.weight")) return {c.mlp_gain * 2 / std::sqrt(fan_in)};
  if (name.ends_with("fc2.weight")) return {1 / c.mlp_gain / std::sqrt(fan_in)};
  if (name.ends_with("attn.proj.weight") || name.ends_with("out_proj.weight")) return {1 / std::sqrt(fan_in)};
  if (name.ends_with("gamma")) return {0.3, 0.5};  // layer scale
  if (spec.shape.size() == 1) return {0.3, 1};     // layer norm
  return {1 / std::sqrt(fan_in)};                  // pooler, head
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const NetworkCase& c) {
  return out << c.name;
}

const std::vector<NetworkCase>& network_cases() {
  static const Cases all = [] {
    Cases cases;
    add_shapes(cases);
    add_options(cases);
    add_other_image_sizes(cases);
    add_tokens(cases);
    add_norms_and_pooling(cases);
    add_positions_in_attention(cases);
    add_block_forms(cases);
    add_attention_forms(cases);
    add_pools_of_all_tokens(cases);
    return cases;
  }();
  return all;
}

const NetworkCase& network_case(std::string_view name) {
  for (const NetworkCase& c : network_cases()) {
    if (c.name == name) return c;
  }
  throw std::out_of_range("no network case " + std::string(name));
}

std::vector<NetworkCase> network_cases(std::initializer_list<std::string_view> names) {
  Cases chosen;
  for (const std::string_view name : names) chosen.push_back(network_case(name));
  return chosen;
}

Weights lively_weights(const NetworkCase& c, std::uint32_t seed) {
  Weights weights;
  auto storage = std::make_shared<std::vector<Tensor>>();
  for_each_tensor(c.config, weights, [&](const TensorSpec& spec, WeightView& view) {
    const Distribution d = distribution(c, spec);
    Tensor& tensor = storage->emplace_back(normal_tensor(spec.shape, seed++, d.sigma, d.mean));
    if (spec.name == "pos_embed" && c.outlier != 0) {
      for (std::int64_t i = 3; i < tensor.size(); i += c.config.hidden_size) {
        tensor.data()[i] += static_cast<float>(c.outlier);
      }
    }
    view.shape = spec.shape;
    view.parts = {{reinterpret_cast<const std::byte*>(tensor.data()), DType::f32, tensor.size()}};
  });
  weights.storage = std::move(storage);
  return weights;
}

Tensor pixel_values(const NetworkCase& c, std::uint32_t seed) {
  const Size2 image = c.image_size();
  return normal_tensor({c.batch, c.config.num_channels, image.height, image.width}, seed);
}

std::shared_ptr<const Model> make_model(const NetworkCase& c, Precision precision) {
  return std::make_shared<const Model>(c.config, lively_weights(c), ModelOptions{.precision = precision});
}

}  // namespace vit::test
