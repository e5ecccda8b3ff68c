// f32 -> the 16-bit formats, rounded to nearest, ties to even.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "vit/tensor.hpp"

namespace vit {

/// Infinite beyond f16's range.
std::uint16_t to_f16(float value);
std::uint16_t to_bf16(float value);

/// The bytes of `values` in a dtype of floating-point numbers, little-endian.
std::vector<std::byte> to_bytes(std::span<const float> values, DType dtype);

}  // namespace vit
