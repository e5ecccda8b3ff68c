// Picture recipes of networks that are published without one: torchvision's presets and what they are for.
// Internal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/json.hpp"
#include "io/preprocess.hpp"
#include "vit/config.hpp"

namespace vit::io {

/// Reads the arguments of torchvision's ImageClassification preset (transforms/_presets.py), as in a
/// preset.json beside the weights:
///
///   crop_size      pixels of a side, or [height, width], or null for none
///   resize_size    pixels of the shorter side, or [height, width] exactly; 256 if it is not there
///   interpolation  "bilinear" if it is not there
///   mean, std      three numbers each, ImageNet's if they are not there
///
/// Without a crop_size, pictures get the size `image` that the network was made for: resized to 8/7 of it and
/// cut (256 and 224 in the paper), or, with a null in its place, resized to it exactly.
///
/// `origin` is what the recipe says of itself; it and `name` appear in messages. Throws Error:
/// config_invalid, model_unsupported (an interpolation that Vitrine does not have).
PreprocessConfig parse_preset(const Json& preset, std::string_view origin, std::string_view name,
                              const std::optional<Size2>& image = std::nullopt);

}  // namespace vit::io
