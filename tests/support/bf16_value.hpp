// bfloat16 by its definition: the upper half of a float.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace vit::test {

inline float bf16_value(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16U);
}

/// The nearer of the two neighbours of a number that is no NaN; of equally near ones the even one. Infinity
/// is the neighbour of the largest.
inline std::uint16_t rounded_to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto down = static_cast<std::uint16_t>(bits >> 16U);
  if (std::isinf(x)) return down;
  const std::uint32_t rest = bits & 0xFFFFU;
  const bool up = rest > 0x8000U || (rest == 0x8000U && (down & 1U) != 0);
  return static_cast<std::uint16_t>(down + (up ? 1 : 0));
}

}  // namespace vit::test
