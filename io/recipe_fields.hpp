// What recipes have in common, above all those of timm and torchvision: fields and their defaults. Internal.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "io/json.hpp"
#include "io/preprocess.hpp"

namespace vit::io {

using Channels = std::array<double, 3>;

inline constexpr Channels kImagenetMean{0.485, 0.456, 0.406};
inline constexpr Channels kImagenetStd{0.229, 0.224, 0.225};

/// Pixels. Throws Error(config_invalid) beyond 1 to 16384.
std::int64_t to_side(const Json& value, std::string_view key, JsonSource source);

/// "interpolation"; `otherwise` where it is missing or empty. Throws Error(model_unsupported).
Interpolation read_interpolation(const Json& object, Interpolation otherwise, JsonSource source);

/// Three numbers that single precision can hold, `otherwise` where they are missing. Throws
/// Error(config_invalid).
Channels read_channels(const Json& object, const char* key, const Channels& otherwise, JsonSource source);

/// The same for divisors: none is 0.
Channels read_divisors(const Json& object, const char* key, const Channels& otherwise, JsonSource source);

/// What PyTorch's tools do to every picture, with mean and std as in `object`; the geometry is left open.
PreprocessConfig torchvision_recipe(const Json& object, JsonSource source);

}  // namespace vit::io
