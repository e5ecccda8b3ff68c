#include "io/preset_recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "io/recipe_fields.hpp"

namespace vit::io {
namespace {

/// [height, width], or nothing for a single number.
std::optional<Size2> find_pair(const Json& value, std::string_view key, JsonSource source) {
  if (!value.is_array()) return std::nullopt;
  if (value.size() != 2) throw_unexpected(source, key, "pixels, or [height, width]", value);
  return Size2{to_side(value[0], fmt::format("{}[0]", key), source),
               to_side(value[1], fmt::format("{}[1]", key), source)};
}

/// What is said, or nothing where the network's own size is meant.
void read_resize(const Json& preset, JsonSource source, PreprocessConfig& recipe) {
  const Json* resize = find(preset, "resize_size");
  if (resize == nullptr) return;
  if (const auto pair = find_pair(*resize, "resize_size", source)) {
    recipe.resize = ResizeMode::exact;
    recipe.size = *pair;
  } else {
    recipe.edge = to_side(*resize, "resize_size", source);
  }
}

}  // namespace

PreprocessConfig parse_preset(const Json& preset, std::string_view origin, std::string_view name,
                              const std::optional<Size2>& image) {
  const JsonSource source(name);
  PreprocessConfig recipe = torchvision_recipe(preset, source);
  recipe.source = origin;
  recipe.interpolation = read_interpolation(preset, Interpolation::bilinear, source);
  recipe.resize = ResizeMode::shortest_edge;
  recipe.edge = 256;
  const auto crop = preset.find("crop_size");
  if (crop == preset.end()) {
    if (!image) throw_unexpected(source, "crop_size", "pixels, [height, width], or null for none", Json());
    recipe.edge = (std::min(image->height, image->width) * 8 + 3) / 7;
    recipe.crop = *image;
  } else if (crop->is_null()) {
    if (image) recipe.resize = ResizeMode::exact;
    if (image) recipe.size = *image;
  } else if (const auto pair = find_pair(*crop, "crop_size", source)) {
    recipe.crop = *pair;
  } else {
    const std::int64_t side = to_side(*crop, "crop_size", source);
    recipe.crop = Size2{side, side};
  }
  read_resize(preset, source, recipe);
  return recipe;
}

}  // namespace vit::io
