// A Hugging Face config.json for a network that came without one. Internal.
#pragma once

#include <optional>

#include "io/checkpoint.hpp"
#include "io/family.hpp"
#include "io/json.hpp"
#include "io/name_map.hpp"

namespace vit::io {

/// What transformers would open: the config, and what the tensors beside it are called.
struct HfModel {
  Json config;
  NameTable names;
  NameChoices choices;
  /// What masks patches in training: transformers' classes have it, and the network does not look at it.
  std::optional<TensorSpec> mask_token;
};

/// ViT, DINOv2, DINOv2 with registers or DINOv3, whichever is the same network. Throws
/// Error(model_unsupported) if none is, saying what stands in the way.
HfModel to_hf_model(const CheckpointInfo& info);

}  // namespace vit::io
