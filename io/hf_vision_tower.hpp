// What the vision towers of CLIP and SigLIP have in common on Hugging Face. Internal.
#pragma once

#include <string_view>

#include "io/family.hpp"
#include "io/hf_common.hpp"

namespace vit::io {

/// Tensors of the encoder, of the norm behind it (`final_norm`: its canonical name) and of the classifier.
NameTable vision_tower_names(std::string_view final_norm);

/// A config.json either is the tower's own or has that inside. Reads the encoder.
void read_vision_tower(ConfigReader& config, std::string_view defaults_source, const HfDefaults& defaults,
                       ModelConfig& model);

/// The tower's own config, of a whole one by its key.
ConfigReader vision_tower_config(const ConfigReader& config);

}  // namespace vit::io
