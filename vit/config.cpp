#include "vit/config.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "vit/error.hpp"

namespace vit {
namespace {

// Far beyond every published ViT, and small enough that products of a few of them fit in 64 bits.
constexpr std::int64_t kMaxDim = 1 << 20;
constexpr std::int64_t kMaxPixels = 1 << 20;  // per side
constexpr std::int64_t kMaxLayers = 4096;
constexpr double kMaxKernel = 0x1p40;  // D C P P, the only product of four

void check_range(std::string_view field, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most) {
    throw Error(ErrorCode::config_invalid,
                fmt::format("{} is {}, expected a whole number from {} to {}", field, value, least, most));
  }
}

void need(bool there, std::string_view part, std::string_view value, std::string_view needed) {
  if (there) return;
  throw Error(ErrorCode::config_invalid, fmt::format("{} {} needs {}", part, value, needed));
}

/// Throws where blocks of this form, or attention of this form, cannot have another part.
void check_blocks(const ModelConfig& config) {
  const std::string_view block = to_string(config.block);
  if (config.is_parallel()) {
    need(config.mlp == Mlp::plain, "block", block, "a plain MLP");
    need(!config.attn_norm && !config.mlp_norm, "block", block, "no norms within attention and MLP");
    need(config.key_bias, "block", block, "key_bias");
  }
  need(config.block != BlockForm::post_norm || !config.layer_scale, "block", block, "no layer_scale");
  need(config.block != BlockForm::twin || config.relative_positions == RelativePositions::none, "block",
       block, "no relative positions");
  need(config.mlp_layer_scale || config.layer_scale, "mlp_layer_scale", "false", "layer_scale");
  if (config.attention == AttentionForm::differential) {
    need(config.head_size() % 2 == 0, "attention", "differential", "an even head size");
    need(config.rotary == RotaryEmbedding::none && config.relative_positions == RelativePositions::none,
         "attention", "differential", "no rotary or relative positions");
  }
  check_range("num_kv_heads", config.num_kv_heads, 0, config.num_heads);
  check_range("ungrouped_blocks", config.ungrouped_blocks, 0, config.num_layers);
  if (config.num_kv_heads == 0) return;
  const std::string kv_heads = std::to_string(config.num_kv_heads);
  need(config.num_heads % config.num_kv_heads == 0, "num_kv_heads", kv_heads,
       "a multiple of it as num_heads");
  need(config.key_bias && !config.is_parallel() && config.attention == AttentionForm::softmax, "num_kv_heads",
       kv_heads, "key_bias, no parallel blocks, and softmax attention");
}

/// Throws where one part of the network needs another.
void check_parts(const ModelConfig& config) {
  check_blocks(config);
  const bool reads_class_token = config.pooling == Pooling::cls || config.pooling == Pooling::cls_and_mean;
  need(config.class_token || !reads_class_token, "pooling", to_string(config.pooling), "a class token");
  need(config.pooling != Pooling::attention || config.mlp == Mlp::plain, "pooling", "attention",
       "a plain MLP");
  need(config.hidden_size % config.pool_heads() == 0, "attn_pool_heads",
       std::to_string(config.attn_pool_heads), "a multiple of it as hidden_size");
  need(config.key_bias || config.qkv_bias, "key_bias", "false", "qkv_bias");
  need(config.relative_positions == RelativePositions::none ||
           (config.class_token && config.num_prefix_tokens() == 1),
       "relative_positions", to_string(config.relative_positions), "a class token and no other prefix");
  if (config.rotary != RotaryEmbedding::none) {
    need(config.head_size() % 4 == 0, "rotary", to_string(config.rotary),
         "a head size that is a multiple of 4");
    need(std::isfinite(config.rotary_theta) && config.rotary_theta > 0, "rotary", to_string(config.rotary),
         "a theta above 0");
    need(std::isfinite(config.rotary_offset), "rotary", to_string(config.rotary), "a finite offset");
    const bool own_grid = config.rotary_grid == Size2{};
    need(own_grid || (config.rotary_grid.height > 0 && config.rotary_grid.width > 0), "rotary",
         to_string(config.rotary), "a reference grid of 1 and more");
  }
  // Norms, pooler and residual stream are D wide.
  const bool wide = config.feature_size() != config.hidden_size;
  need(!wide || config.final_norm != FinalNorm::after_pooling, "the norm", "after_pooling",
       "features of hidden_size");
  need(config.pre_logits_size == 0 || config.num_classes > 0, "a layer in front of the head",
       std::to_string(config.pre_logits_size) + " wide", "classes");
  need(config.pre_logits_size == 0 || config.distillation != Distillation::head,
       "a layer in front of the head", std::to_string(config.pre_logits_size) + " wide",
       "a network that is not distilled");
  if (config.distillation == Distillation::none) return;
  const std::string_view distillation = to_string(config.distillation);
  need(config.class_token, "distillation", distillation, "a class token");
  if (config.distillation != Distillation::head) return;
  need(config.num_classes > 0, "distillation", distillation, "classes");
  need(config.pooling == Pooling::cls, "distillation", distillation, "pooling cls");
  need(config.final_norm == FinalNorm::before_pooling, "distillation", distillation,
       "the norm before the pooling");
}

}  // namespace

std::string_view to_string(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu_tanh";
    case Activation::quick_gelu:
      return "quick_gelu";
    case Activation::relu:
      return "relu";
    case Activation::silu:
      return "silu";
    case Activation::tanh:
      return "tanh";
    case Activation::sigmoid:
      return "sigmoid";
    case Activation::identity:
      return "identity";
    case Activation::gelu_10:
      return "gelu_10";
    case Activation::leaky_relu:
      return "leaky_relu";
    case Activation::relu6:
      return "relu6";
    case Activation::relu2:
      return "relu2";
    case Activation::elu:
      return "elu";
    case Activation::selu:
      return "selu";
    case Activation::mish:
      return "mish";
    case Activation::hard_sigmoid:
      return "hard_sigmoid";
    case Activation::hard_swish:
      return "hard_swish";
    case Activation::hard_mish:
      return "hard_mish";
    case Activation::laplace:
      return "laplace";
    case Activation::sqrt_softplus:
      return "sqrt_softplus";
  }
  return "?";
}

std::string_view to_string(Pooling pooling) {
  switch (pooling) {
    case Pooling::cls:
      return "cls";
    case Pooling::mean:
      return "mean";
    case Pooling::cls_and_mean:
      return "cls_and_mean";
    case Pooling::max:
      return "max";
    case Pooling::mean_max:
      return "mean_max";
    case Pooling::attention:
      return "attention";
  }
  return "?";
}

std::string_view to_string(NormKind norm) {
  switch (norm) {
    case NormKind::layer:
      return "layer";
    case NormKind::rms:
      return "rms";
  }
  return "?";
}

std::string_view to_string(BlockForm form) {
  switch (form) {
    case BlockForm::pre_norm:
      return "pre_norm";
    case BlockForm::post_norm:
      return "post_norm";
    case BlockForm::parallel:
      return "parallel";
    case BlockForm::parallel_fused:
      return "parallel_fused";
    case BlockForm::twin:
      return "twin";
  }
  return "?";
}

std::string_view to_string(AttentionForm form) {
  switch (form) {
    case AttentionForm::softmax:
      return "softmax";
    case AttentionForm::differential:
      return "differential";
  }
  return "?";
}

std::string_view to_string(FinalNorm norm) {
  switch (norm) {
    case FinalNorm::before_pooling:
      return "before_pooling";
    case FinalNorm::after_pooling:
      return "after_pooling";
    case FinalNorm::none:
      return "none";
  }
  return "?";
}

std::string_view to_string(Mlp mlp) {
  switch (mlp) {
    case Mlp::plain:
      return "plain";
    case Mlp::gated:
      return "gated";
  }
  return "?";
}

std::string_view to_string(Distillation distillation) {
  switch (distillation) {
    case Distillation::none:
      return "none";
    case Distillation::token:
      return "token";
    case Distillation::head:
      return "head";
  }
  return "?";
}

std::string_view to_string(PositionEmbedding positions) {
  switch (positions) {
    case PositionEmbedding::all_tokens:
      return "all_tokens";
    case PositionEmbedding::class_and_patches:
      return "class_and_patches";
    case PositionEmbedding::patches:
      return "patches";
    case PositionEmbedding::none:
      return "none";
  }
  return "?";
}

std::string_view to_string(PositionResampling resampling) {
  switch (resampling) {
    case PositionResampling::bicubic:
      return "bicubic";
    case PositionResampling::bicubic_antialias:
      return "bicubic_antialias";
    case PositionResampling::bicubic_aligned:
      return "bicubic_aligned";
    case PositionResampling::bicubic_offset:
      return "bicubic_offset";
  }
  return "?";
}

std::string_view to_string(RotaryEmbedding rotary) {
  switch (rotary) {
    case RotaryEmbedding::none:
      return "none";
    case RotaryEmbedding::centred:
      return "centred";
    case RotaryEmbedding::indexed:
      return "indexed";
    case RotaryEmbedding::mixed:
      return "mixed";
  }
  return "?";
}

std::string_view to_string(RotaryLayout layout) {
  switch (layout) {
    case RotaryLayout::halves:
      return "halves";
    case RotaryLayout::adjacent:
      return "adjacent";
  }
  return "?";
}

std::string_view to_string(RotaryOrder order) {
  switch (order) {
    case RotaryOrder::rows_first:
      return "rows_first";
    case RotaryOrder::columns_first:
      return "columns_first";
  }
  return "?";
}

std::string_view to_string(RelativePositions positions) {
  switch (positions) {
    case RelativePositions::none:
      return "none";
    case RelativePositions::per_block:
      return "per_block";
    case RelativePositions::shared:
      return "shared";
    case RelativePositions::both:
      return "both";
  }
  return "?";
}

std::string_view to_string(RelativeResampling resampling) {
  switch (resampling) {
    case RelativeResampling::none:
      return "none";
    case RelativeResampling::bilinear:
      return "bilinear";
    case RelativeResampling::geometric:
      return "geometric";
  }
  return "?";
}

std::int64_t ModelConfig::num_prefix_positions() const {
  switch (position_embedding) {
    case PositionEmbedding::all_tokens:
      return num_prefix_tokens();
    case PositionEmbedding::class_and_patches:
      return class_token ? 1 : 0;
    case PositionEmbedding::patches:
    case PositionEmbedding::none:
      break;
  }
  return 0;
}

void ModelConfig::validate() const {
  check_range("image_size (height)", image_size.height, 1, kMaxPixels);
  check_range("image_size (width)", image_size.width, 1, kMaxPixels);
  check_range("patch_size (height)", patch_size.height, 1, image_size.height);
  check_range("patch_size (width)", patch_size.width, 1, image_size.width);
  check_range("num_channels", num_channels, 1, 4096);
  check_range("hidden_size", hidden_size, 1, kMaxDim);
  const double kernel = static_cast<double>(hidden_size * num_channels) *
                        static_cast<double>(patch_size.height * patch_size.width);
  if (kernel > kMaxKernel) {
    throw Error(
        ErrorCode::config_invalid,
        fmt::format("hidden_size {}, num_channels {} and patch_size {}x{} give a patch embedding of "
                    "{:.3g} weights, expected at most {:.3g}",
                    hidden_size, num_channels, patch_size.height, patch_size.width, kernel, kMaxKernel));
  }
  check_range("num_hidden_layers", num_layers, 1, kMaxLayers);
  check_range("num_attention_heads", num_heads, 1, hidden_size);
  if (hidden_size % num_heads != 0) {
    throw Error(
        ErrorCode::config_invalid,
        fmt::format("hidden_size {} is not a multiple of num_attention_heads {}", hidden_size, num_heads));
  }
  check_range("intermediate_size", mlp_size, 1, kMaxDim);
  check_range("number of registers", num_registers, 0, 4096);
  check_range("attn_pool_heads", attn_pool_heads, 0, hidden_size);
  check_range("attn_pool_mlp_size", attn_pool_mlp_size, 0, kMaxDim);
  check_range("number of labels", num_classes, 0, kMaxDim);
  check_range("size of the layer in front of the head", pre_logits_size, 0, kMaxDim);
  check_range("pooler_output_size", pooler_size, 0, kMaxDim);
  if (!std::isfinite(layer_norm_eps) || layer_norm_eps < 0) {
    throw Error(ErrorCode::config_invalid,
                fmt::format("layer_norm_eps is {}, expected a number that is not negative", layer_norm_eps));
  }
  check_parts(*this);
}

void ModelConfig::validate_image(Size2 image) const {
  if (image.height < patch_size.height || image.width < patch_size.width || image.height > kMaxPixels ||
      image.width > kMaxPixels) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("an image of {}x{} pixels (height x width) does not fit the network: each side must be "
                    "at least one patch ({}x{}) and at most {}",
                    image.height, image.width, patch_size.height, patch_size.width, kMaxPixels));
  }
  if (relative_positions != RelativePositions::none && relative_resampling == RelativeResampling::none &&
      grid(image) != grid(image_size)) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("an image of {}x{} pixels (height x width) does not fit the network: its relative "
                    "positions are for images of {}x{}",
                    image.height, image.width, image_size.height, image_size.width));
  }
}

}  // namespace vit
