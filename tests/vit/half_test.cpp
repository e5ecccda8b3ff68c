#include "vit/half.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/half_value.hpp"

namespace vit {
namespace {

using test::half_value;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(ToF16, GivesEveryHalfBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = half_value(bits);
    if (std::isnan(value)) continue;
    ASSERT_EQ(to_f16(value), bits) << value;
  }
}

TEST(ToF16, RoundsTiesToEvenAndTheRestToTheNearest) {
  for (std::uint32_t bits = 0; bits < 0x7C00; ++bits) {
    // Behind the largest half a half of 2^16 would follow, in whose place there is infinity.
    const float next = bits == 0x7BFF ? 65536.0F : half_value(bits + 1);
    const float tie = (half_value(bits) + next) / 2;  // exact: 12 bits
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    for (const std::uint32_t sign : {0U, 0x8000U}) {
      const float direction = sign == 0 ? 1.0F : -1.0F;
      ASSERT_EQ(to_f16(direction * tie), sign | even) << tie;
      ASSERT_EQ(to_f16(direction * std::nextafter(tie, 0.0F)), sign | bits) << tie;
      ASSERT_EQ(to_f16(direction * std::nextafter(tie, kInfinity)), sign | (bits + 1)) << tie;
    }
  }
}

TEST(ToF16, WhatIsBeyondIt) {
  EXPECT_EQ(to_f16(kInfinity), 0x7C00);
  EXPECT_EQ(to_f16(-kInfinity), 0xFC00);
  EXPECT_EQ(to_f16(std::numeric_limits<float>::max()), 0x7C00);
  EXPECT_EQ(to_f16(std::numeric_limits<float>::lowest()), 0xFC00);
  EXPECT_EQ(to_f16(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(to_f16(-std::numeric_limits<float>::denorm_min()), 0x8000);
  EXPECT_EQ(to_f16(std::numeric_limits<float>::min()), 0);
  // Any NaN stays one, also where the upper bits of its payload are zero.
  for (const std::uint32_t nan : {0x7FC00000U, 0x7F800001U, 0x7FFFFFFFU, 0xFF800001U}) {
    EXPECT_TRUE(std::isnan(half_value(to_f16(std::bit_cast<float>(nan))))) << std::hex << nan;
  }
}

float bf16_value(std::uint32_t bits) {
  return std::bit_cast<float>(bits << 16U);
}

TEST(ToBf16, GivesEveryValueBackAndRoundsTiesToEven) {
  for (std::uint32_t bits = 0; bits < 0x7F80; ++bits) {
    ASSERT_EQ(to_bf16(bf16_value(bits)), bits);
    const float tie = std::bit_cast<float>(bits << 16U | 0x8000U);  // the middle to the next
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(to_bf16(tie), even) << tie;
    ASSERT_EQ(to_bf16(-tie), even | 0x8000U) << tie;
    ASSERT_EQ(to_bf16(std::nextafter(tie, 0.0F)), bits) << tie;
    ASSERT_EQ(to_bf16(std::nextafter(tie, kInfinity)), bits + 1) << tie;
  }
  EXPECT_EQ(to_bf16(kInfinity), 0x7F80);
  EXPECT_EQ(to_bf16(-kInfinity), 0xFF80);
  for (const std::uint32_t nan : {0x7FC00000U, 0x7F800001U, 0x7FFFFFFFU, 0xFF800001U})
    EXPECT_TRUE(std::isnan(bf16_value(to_bf16(std::bit_cast<float>(nan))))) << std::hex << nan;
}

TEST(ToBytes, IsLittleEndian) {
  const float values[] = {1.0F, -2.0F};
  const auto bytes = to_bytes(values, DType::bf16);
  ASSERT_EQ(bytes.size(), 4U);
  EXPECT_EQ(bytes[1], std::byte{0x3F});
  EXPECT_EQ(bytes[3], std::byte{0xC0});
  EXPECT_EQ(to_bytes(values, DType::f32).size(), 8U);
  EXPECT_EQ(to_bytes(values, DType::f16)[1], std::byte{0x3C});
}

}  // namespace
}  // namespace vit
