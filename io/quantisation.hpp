// How a folder says that its weights are 8-bit integers: what its writer and its readers share. Internal.
//
// The form is that of compressed-tensors ("int-quantized", a scale for each channel), which transformers
// opens: https://github.com/vllm-project/compressed-tensors
//   model.safetensors   a matrix NAME [out, in] of type I8 and its scales NAME_scale [out, 1], F32 as Vitrine
//                       writes them, stand for the numbers NAME_scale[o] · NAME[o, i]; in the metadata what
//                       they were rounded from
//   config.json         quantization_config
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/json.hpp"

namespace vit::io {

class ConfigReader;

/// Behind the name of a matrix of integers in the name of its scales.
inline constexpr std::string_view kScaleEnding = "_scale";

/// Metadata: the file and dtype that the integers were rounded from, and what rounded them.
inline constexpr std::string_view kQuantisedFrom = "vitrine.quantized_from";
inline constexpr std::string_view kQuantisedBy = "vitrine.quantized_by";

/// In config.json.
inline constexpr std::string_view kQuantisationKey = "quantization_config";

/// The value of that key. `unrounded`: linear layers, as the file calls them, that are no integers.
Json quantisation_config(const std::vector<std::string>& unrounded);

/// Whether the config says that weights are 8-bit integers in the form above. Throws Error(model_unsupported)
/// if it says that they are anything else that is not plain numbers.
bool says_quantised(const ConfigReader& config);

}  // namespace vit::io
