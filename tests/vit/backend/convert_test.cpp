#include "vit/backend/convert.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/expect_error.hpp"
#include "tests/support/random.hpp"
#include "tests/vit/backend/typed_rows.hpp"
#include "vit/backend/context.hpp"

namespace vit::test {
namespace {

TEST(ConvertRows, F32StaysWhatItIs) {
  const Tensor x = normal_tensor({7, 33}, 1);
  const TypedRows rows(x, 33, ValueType::f32);
  for (std::int64_t i = 0; i < x.size(); ++i) EXPECT_EQ(rows.at(i), static_cast<double>(x.data()[i]));
}

TEST(ConvertRows, Bf16IsTheNearest) {
  const Tensor x = normal_tensor({7, 33}, 1);
  const TypedRows rows(x, 33, ValueType::bf16);
  for (std::int64_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(static_cast<float>(rows.at(i)), bf16_value(rounded_to_bf16(x.data()[i])));
}

TEST(ConvertRows, U8HasAScaleForEachRow) {
  Tensor x = normal_tensor({5, 70}, 1);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] *= static_cast<float>(1 << (i / 70 * 3));
  const TypedRows rows(x, 70, ValueType::u8);
  for (std::int64_t row = 0; row < 5; ++row) {
    const float* const values = x.data() + row * 70;
    const auto [low, high] = std::minmax_element(values, values + 70);
    const float scale = rows.scale_of(row * 70).scale;
    EXPECT_FLOAT_EQ(scale, (*high - *low) / 255) << row;
    for (std::int64_t i = row * 70; i < (row + 1) * 70; ++i)
      EXPECT_NEAR(rows.at(i), static_cast<double>(x.data()[i]), static_cast<double>(scale) * 0.5001) << i;
  }
}

TEST(ConvertRows, FromBf16ToU8) {
  const TypedRows halves(normal_tensor({9, 47}, 1), 47, ValueType::bf16);
  const TypedRows expected(halves.narrowed(), 47, ValueType::u8);
  const TypedRows got(9, 47, ValueType::u8);
  backend::convert_rows(halves.values(), {9, 47}, got.values());
  for (std::int64_t i = 0; i < 9 * 47; ++i) EXPECT_EQ(got.at(i), expected.at(i)) << i;
}

TEST(ConvertRows, OneByOneAsTogether) {
  const Tensor x = normal_tensor({4, 21}, 1);
  for (const ValueType type : {ValueType::f32, ValueType::bf16, ValueType::u8}) {
    const TypedRows together(x, 21, type);
    const TypedRows one_by_one(4, 21, type);
    for (const std::int64_t row : {2, 0, 3, 1})
      backend::convert_row(x.data() + row * 21, 21, one_by_one.values(), row);
    for (std::int64_t i = 0; i < x.size(); ++i) EXPECT_EQ(together.at(i), one_by_one.at(i)) << i;
  }
}

TEST(ConvertRows, OnAnyNumberOfThreads) {
  const Tensor x = normal_tensor({37, 21}, 1);
  for (const ValueType type : {ValueType::f32, ValueType::bf16, ValueType::u8}) {
    const backend::ThreadScope one(1);
    const TypedRows expected(x, 21, type);
    const backend::ThreadScope three(3);
    const TypedRows got(x, 21, type);
    for (std::int64_t i = 0; i < x.size(); ++i) EXPECT_EQ(expected.at(i), got.at(i)) << i;
  }
}

TEST(ConvertRows, OthersDoNotExist) {
  const TypedRows halves(normal_tensor({2, 3}, 1), 3, ValueType::bf16);
  const TypedRows levels(2, 3, ValueType::u8);
  EXPECT_ERROR(backend::convert_rows(levels.values(), {2, 3}, halves.values()), ErrorCode::internal,
               "no conversion");
  EXPECT_ERROR(backend::convert_rows(halves.values(), {2, 3}, halves.values()), ErrorCode::internal,
               "no conversion");
}

}  // namespace
}  // namespace vit::test
