// What timm's named architectures are built with: the arguments that a checkpoint's config does not repeat.
// Internal.
#pragma once

#include <span>
#include <string_view>

namespace vit::io {

struct TimmArchitecture {
  std::string_view name;         ///< "vit_base_patch16_224"
  std::string_view model_class;  ///< "VisionTransformer", "VisionTransformerDistilled", "Beit", "Eva"
  std::string_view args;         ///< JSON object; a class with arguments of its own is [name, {arguments}]
};

/// Sorted by name. The table is written by timm_architectures.py.
std::span<const TimmArchitecture> timm_architectures();

}  // namespace vit::io
