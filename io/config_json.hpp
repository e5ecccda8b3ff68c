// ModelConfig and PreprocessConfig as JSON, every field by its name. Internal to io/.
#pragma once

#include "io/json.hpp"
#include "io/preprocess.hpp"
#include "vit/config.hpp"

namespace vit::io {

Json to_json(const ModelConfig& config);
Json to_json(const PreprocessConfig& recipe);

/// Throw Error(source.code) naming a field that is missing or cannot be. Fields that are not known are an
/// error too: they would change what the others mean.
ModelConfig model_config_from_json(const Json& json, JsonSource source);
PreprocessConfig preprocess_config_from_json(const Json& json, JsonSource source);

}  // namespace vit::io
