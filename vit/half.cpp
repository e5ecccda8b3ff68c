#include "vit/half.hpp"

#include <bit>
#include <cstring>

namespace vit {

std::uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16U) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U);   // NaN
  if (magnitude >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);  // rounds to 65536 or more
  if (magnitude <
      0x38800000U) {  // subnormal: adding 0.5 puts the unit of f16's subnormals, 2^-24, in the last bit
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U));
  }
  const std::uint32_t odd = (magnitude >> 13U) & 1U;
  const std::uint32_t rounded =
      magnitude - (112U << 23U) + 0xFFFU + odd;  // 112: the biases' difference, 127 − 15
  return static_cast<std::uint16_t>(sign | (rounded >> 13U));
}

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);  // NaN
  const std::uint32_t odd = (bits >> 16U) & 1U;
  return static_cast<std::uint16_t>((bits + 0x7FFFU + odd) >> 16U);
}

std::vector<std::byte> to_bytes(std::span<const float> values, DType dtype) {
  std::vector<std::byte> bytes(values.size() * size_of(dtype));
  if (dtype == DType::f32) {
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  std::byte* next = bytes.data();
  for (const float value : values) {
    const std::uint16_t half = dtype == DType::f16 ? to_f16(value) : to_bf16(value);
    std::memcpy(next, &half, sizeof half);
    next += sizeof half;
  }
  return bytes;
}

}  // namespace vit
