// What DINOv2 with and without registers have in common on Hugging Face. Internal.
#pragma once

#include <string_view>

#include "io/family.hpp"

namespace vit::io {

/// `base`: what the backbone's names begin with in a classifier's file.
NameTable dinov2_names(std::string_view base);

/// Everything but registers. `family` names the classes with and without a head.
FamilyConfig read_dinov2(ConfigReader& config, const WeightFiles& files, const Family& family,
                         Size2 default_patch_size);

}  // namespace vit::io
