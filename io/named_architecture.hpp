// Architectures by name, for weights without a config.json: NAME or NAME.TAG. Internal.
#pragma once

#include <string>
#include <string_view>

#include "io/json.hpp"

namespace vit::io {

/// The config.json that weights of this name would have beside them: of timm's architectures "architecture"
/// and "pretrained_cfg" (of the tag, else of its default weights), of others "architecture", "model_args" and
/// "preset" (how pictures are prepared). Throws Error(model_unsupported), naming the nearest names, or the
/// tags that there are.
Json named_config(std::string_view name);

}  // namespace vit::io
