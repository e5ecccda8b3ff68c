// The picture recipe of a timm folder: pretrained_cfg in its config.json. Internal.
#pragma once

#include <string_view>

#include "io/json.hpp"
#include "io/preprocess.hpp"

namespace vit::io {

/// Whether a config.json is timm's: it names an architecture and no model_type.
bool is_timm_config(const Json& config);

/// As timm's resolve_data_config and transforms_imagenet_eval: EXIF is not looked at, and torchvision's
/// rounding holds. `name` appears in messages. Throws Error: config_invalid, model_unsupported (a crop mode
/// or filter that timm does not have; channels other than RGB).
PreprocessConfig parse_timm_recipe(const Json& config, std::string_view name);

}  // namespace vit::io
