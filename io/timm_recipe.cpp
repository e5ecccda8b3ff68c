#include "io/timm_recipe.hpp"

#include <fmt/format.h>

#include <cmath>

#include "io/recipe_fields.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr double kDefaultCrop = 0.875;

/// input_size, or the size that model_args build the network for where that is fixed (_parse_model_cfg).
Size2 input_size(const Json& config, const Json& cfg, JsonSource source) {
  Size2 size{224, 224};
  if (const Json* input = find_array(cfg, "input_size", source)) {
    if (input->size() != 3) throw_unexpected(source, "input_size", "[3, height, width]", *input);
    size = {to_side((*input)[1], "input_size[1]", source), to_side((*input)[2], "input_size[2]", source)};
    if (to_int((*input)[0], "input_size[0]", source) != 3) {
      throw Error(ErrorCode::model_unsupported,
                  fmt::format("{}: \"input_size\": pictures are RGB, this model takes {} channels",
                              source.name, describe((*input)[0])));
    }
  }
  const Json* args = find_object(config, "model_args", source);
  if (args == nullptr || !find_bool(cfg, "fixed_input_size", source).value_or(false)) return size;
  if (find_bool(*args, "dynamic_img_size", source).value_or(false)) return size;
  const Json* image = find(*args, "img_size");
  if (image == nullptr) return size;
  const bool pair = image->is_array() && image->size() == 2;
  return {to_side(pair ? (*image)[0] : *image, "img_size", source),
          to_side(pair ? (*image)[1] : *image, "img_size", source)};
}

/// Resize to the picture size divided by crop_pct, rounded down, then cut the picture size out of it.
void set_geometry(const std::string& mode, Size2 size, double crop_pct, PreprocessConfig& recipe) {
  const auto scaled = [&](std::int64_t side) {
    return static_cast<std::int64_t>(std::floor(static_cast<double>(side) / crop_pct));
  };
  recipe.size = {scaled(size.height), scaled(size.width)};
  recipe.edge = recipe.size.height;
  recipe.crop = size;
  if (mode == "squash") {
    recipe.resize = ResizeMode::exact;
  } else if (mode == "border") {
    recipe.resize = ResizeMode::fit;
    for (std::size_t i = 0; i < 3; ++i) {
      const double fill = std::nearbyint(255 * recipe.mean[i]);  // half to even, as Python's round
      recipe.fill[i] = static_cast<std::uint8_t>(std::min(std::max(fill, 0.0), 255.0));
    }
  } else {
    recipe.resize = recipe.size.height == recipe.size.width ? ResizeMode::shortest_edge : ResizeMode::cover;
  }
}

}  // namespace

bool is_timm_config(const Json& config) {
  return find(config, "architecture") != nullptr && find(config, "model_type") == nullptr;
}

PreprocessConfig parse_timm_recipe(const Json& config, std::string_view name) {
  const JsonSource source(name);
  const Json* nested = find_object(config, "pretrained_cfg", source);
  const Json& cfg = nested != nullptr ? *nested : config;  // files of 2022 had no inner object

  PreprocessConfig recipe = torchvision_recipe(cfg, source);
  recipe.source = fmt::format("timm, pretrained_cfg of {}", name);
  recipe.interpolation = read_interpolation(cfg, Interpolation::bicubic, source);
  double crop_pct = find_number(cfg, "crop_pct", source).value_or(kDefaultCrop);
  if (crop_pct == 0) crop_pct = kDefaultCrop;  // as Python's "or"
  if (crop_pct < 0.01 || crop_pct > 100) throw_unexpected(source, "crop_pct", "0.01 to 100", cfg["crop_pct"]);
  const std::string mode = find_string(cfg, "crop_mode", source).value_or("center");
  if (mode != "center" && mode != "squash" && mode != "border" && !mode.empty()) {
    throw Error(
        ErrorCode::model_unsupported,
        fmt::format("{}: \"crop_mode\": \"{}\" is not supported; center, squash and border are", name, mode));
  }
  set_geometry(mode, input_size(config, cfg, source), crop_pct, recipe);
  return recipe;
}

}  // namespace vit::io
