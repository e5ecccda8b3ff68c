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

/// Weights that timm knows of an architecture: what they were trained for, and on what pictures.
struct TimmPretrained {
  std::string_view architecture;
  std::string_view tag;  ///< "augreg2_in21k_ft_in1k"; may be empty
  std::string_view cfg;  ///< JSON object: of pretrained_cfg what differs from timm's defaults
};

/// What older configs call an architecture.
struct TimmFormerName {
  std::string_view name;     ///< "vit_tiny_patch16_224_in21k"
  std::string_view current;  ///< with the tag of its weights: "vit_tiny_patch16_224.augreg_in21k"
};

std::span<const TimmFormerName> timm_former_names();

/// Sorted by architecture, its default weights first. Every architecture has one at least.
std::span<const TimmPretrained> timm_pretrained();

/// Sorted by name. The tables are written by timm_architectures.py.
std::span<const TimmArchitecture> timm_architectures();

}  // namespace vit::io
