// How a folder says that its weights are 8-bit integers: names that its writer and its readers share.
// Internal.
//
// In model.safetensors a matrix NAME [out, in] of type I8 and its scales NAME_scale [out] of type F32 stand
// for the numbers scale[o] · NAME[o, i], −127 … 127 times the scale. That alone decides; config.json says it
// for other programs, and the metadata of the safetensors file for people.
#pragma once

#include <string_view>

namespace vit::io {

/// Behind the name of a matrix of integers in the name of its scales.
inline constexpr std::string_view kScaleEnding = "_scale";

/// Metadata: the file and dtype that the integers were rounded from, and what rounded them.
inline constexpr std::string_view kQuantisedFrom = "vitrine.quantized_from";
inline constexpr std::string_view kQuantisedBy = "vitrine.quantized_by";

/// In config.json: an object with the method, as transformers calls it.
inline constexpr std::string_view kQuantisationKey = "quantization_config";
inline constexpr std::string_view kMethodKey = "quant_method";
inline constexpr std::string_view kOurMethod = "vitrine";

}  // namespace vit::io
