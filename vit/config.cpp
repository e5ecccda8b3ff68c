#include "vit/config.hpp"

#include <fmt/format.h>

#include <cmath>

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
  }
  return "?";
}

std::string_view to_string(Pooling pooling) {
  switch (pooling) {
    case Pooling::cls:
      return "cls";
    case Pooling::cls_and_mean:
      return "cls_and_mean";
  }
  return "?";
}

std::string_view to_string(PositionResampling resampling) {
  switch (resampling) {
    case PositionResampling::bicubic:
      return "bicubic";
  }
  return "?";
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
  check_range("number of labels", num_classes, 0, kMaxDim);
  check_range("pooler_output_size", pooler_size, 0, kMaxDim);
  if (!std::isfinite(layer_norm_eps) || layer_norm_eps < 0) {
    throw Error(ErrorCode::config_invalid,
                fmt::format("layer_norm_eps is {}, expected a number that is not negative", layer_norm_eps));
  }
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
}

}  // namespace vit
