#include "vit/values.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <new>

namespace vit::test {
namespace {

TEST(Values, HaveSizes) {
  EXPECT_EQ(size_of(ValueType::f32), 4);
  EXPECT_EQ(size_of(ValueType::bf16), 2);
  EXPECT_EQ(size_of(ValueType::u8), 1);
}

TEST(Values, OfFloatsAreF32) {
  float x = 1;
  const Values values(&x);
  EXPECT_EQ(values.type, ValueType::f32);
  EXPECT_EQ(values.scales, nullptr);
  const ConstValues read = values;
  EXPECT_EQ(read.data, &x);
  EXPECT_EQ(read.type, ValueType::f32);
}

TEST(ValueBuffer, IsZerosWithRoomForAllOfIt) {
  LargeMemoryPool memory;
  for (const ValueType type : {ValueType::f32, ValueType::bf16, ValueType::u8}) {
    const ValueBuffer buffer(3, 5, type, memory);
    const ValueBuffer next(1, 1, type, memory);
    EXPECT_EQ(buffer.rows(), 3);
    EXPECT_EQ(buffer.size(), 15);
    const Values values = buffer.values();
    EXPECT_EQ(values.type, type);
    auto* const bytes = static_cast<unsigned char*>(values.data);
    for (std::int64_t i = 0; i < 15 * size_of(type); ++i) EXPECT_EQ(bytes[i], 0);
    std::memset(bytes, 255, static_cast<std::size_t>(15 * size_of(type)));
    EXPECT_EQ(*static_cast<unsigned char*>(next.values().data), 0);
  }
}

TEST(ValueBuffer, HasScalesWhereTheTypeNeedsThem) {
  LargeMemoryPool memory;
  EXPECT_EQ(ValueBuffer(3, 5, ValueType::f32, memory).values().scales, nullptr);
  EXPECT_EQ(ValueBuffer(3, 5, ValueType::bf16, memory).values().scales, nullptr);
  const ValueBuffer levels(3, 5, ValueType::u8, memory);
  const ValueBuffer next(3, 5, ValueType::u8, memory);
  ASSERT_NE(levels.values().scales, nullptr);
  for (int row = 0; row < 3; ++row) {
    EXPECT_EQ(levels.values().scales[row].zero, 0);
    levels.values().scales[row] = {1, 7};
  }
  EXPECT_EQ(next.values().scales[0].zero, 0);
  EXPECT_EQ(*static_cast<unsigned char*>(next.values().data), 0);
}

TEST(ValueBuffer, OfNothingIsEmpty) {
  EXPECT_EQ(ValueBuffer().size(), 0);
  EXPECT_EQ(ValueBuffer().values().data, nullptr);
}

TEST(ValueBuffer, WhatCannotBeIsBadAlloc) {
  LargeMemoryPool memory;
  EXPECT_THROW(ValueBuffer(std::int64_t{1} << 50, 1 << 10, ValueType::u8, memory), std::bad_alloc);
}

}  // namespace
}  // namespace vit::test
