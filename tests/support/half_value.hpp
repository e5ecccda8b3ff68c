// IEEE 754 halves by their definition.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace vit::test {

/// The meaning of an IEEE 754 half, by its definition.
inline float half_value(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10U & 31U);
  const int mantissa = static_cast<int>(bits & 1023U);
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  if (exponent == 31)
    return mantissa != 0 ? std::nanf("") : static_cast<float>(sign) * std::numeric_limits<float>::infinity();
  if (exponent == 0) return static_cast<float>(sign * std::ldexp(mantissa, -24));
  return static_cast<float>(sign * std::ldexp(1024 + mantissa, exponent - 25));
}

}  // namespace vit::test
