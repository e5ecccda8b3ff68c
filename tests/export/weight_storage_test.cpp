// Weights as the bytes of initializers, against their definitions.
#include "export/weight_storage.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/support/half_value.hpp"
#include "tests/support/random.hpp"
#include "vit/half.hpp"

namespace vit::exporter {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

using test::half_value;

/// A weight of normal numbers.
struct Sample {
  Tensor values;
  StoredWeight weight;
  int released = 0;

  explicit Sample(Shape shape, std::uint32_t seed = 1) : values(test::normal_tensor(shape, seed)) {
    weight.view = {std::move(shape),
                   {{reinterpret_cast<const std::byte*>(values.data()), DType::f32, values.size(), 0}}};
    weight.release_pages = [this] { ++released; };
  }
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;

  std::int64_t rows() const { return weight.view.shape[0]; }
  std::int64_t columns() const { return values.size() / rows(); }
  float at(std::int64_t r, std::int64_t c) const { return values.data()[r * columns() + c]; }
};

/// What a fill writes, to memory that is not aligned and bounded by canaries.
template <class T>
std::vector<T> written(const Fill& fill, std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
  std::vector<std::byte> memory(bytes + 2, std::byte{0xA5});
  fill(memory.data() + 1);
  EXPECT_EQ(memory.front(), std::byte{0xA5});
  EXPECT_EQ(memory.back(), std::byte{0xA5});
  std::vector<T> values(static_cast<std::size_t>(count));
  std::memcpy(values.data(), memory.data() + 1, bytes);
  return values;
}

class StoredWeightOfSize : public testing::TestWithParam<Shape> {};

TEST_P(StoredWeightOfSize, IsTheTransposeAndTheRounding) {
  const Sample s(GetParam());
  const auto n = s.values.size();
  const auto f32 = written<float>(s.weight.as_f32(), n);
  const auto f16 = written<std::uint16_t>(s.weight.as_f16(), n);
  const auto i8 = written<std::int8_t>(s.weight.as_i8(), n);
  const auto f32_t = written<float>(s.weight.transposed_f32(), n);
  const auto f16_t = written<std::uint16_t>(s.weight.transposed_f16(), n);
  const auto i8_t = written<std::int8_t>(s.weight.transposed_i8(), n);
  const auto scales = written<float>(s.weight.i8_scales(), s.rows());
  EXPECT_GE(s.released, 7);
  for (std::int64_t r = 0; r < s.rows(); ++r) {
    float largest = 0;
    for (std::int64_t c = 0; c < s.columns(); ++c) largest = std::max(largest, std::fabs(s.at(r, c)));
    const float scale = scales[static_cast<std::size_t>(r)];
    ASSERT_EQ(scale, largest / 127);
    bool whole_range = false;
    for (std::int64_t c = 0; c < s.columns(); ++c) {
      const auto straight = static_cast<std::size_t>(r * s.columns() + c);
      const auto turned = static_cast<std::size_t>(c * s.rows() + r);
      ASSERT_EQ(f32[straight], s.at(r, c));
      ASSERT_EQ(f16[straight], to_f16(s.at(r, c)));
      ASSERT_NEAR(static_cast<float>(i8[straight]) * scale, s.at(r, c), 0.5001F * scale);
      whole_range = whole_range || std::abs(i8[straight]) == 127;
      ASSERT_EQ(f32_t[turned], f32[straight]);
      ASSERT_EQ(f16_t[turned], f16[straight]);
      ASSERT_EQ(i8_t[turned], i8[straight]);
    }
    EXPECT_TRUE(whole_range);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, StoredWeightOfSize,
                         testing::Values(Shape{1, 1}, Shape{1, 130}, Shape{130, 1}, Shape{63, 65},
                                         Shape{64, 64}, Shape{65, 127}, Shape{7, 3, 2, 5}, Shape{9}));

TEST(StoredWeight, ARowOfZerosHasAScaleToDivideBy) {
  Sample s({2, 3});
  for (std::int64_t c = 0; c < 3; ++c) s.values.data()[c] = 0;
  EXPECT_EQ(written<float>(s.weight.i8_scales(), 2).front(), 1.0F);
  EXPECT_EQ(written<std::int8_t>(s.weight.as_i8(), 6)[1], 0);
}

TEST(StoredWeight, ARowOfTheSmallestNumbersStaysWithinItsRange) {
  Sample s({1, 4});
  const float tiny = std::numeric_limits<float>::denorm_min();
  const std::vector<float> row{tiny, -tiny, 100 * tiny, -100 * tiny};
  std::copy(row.begin(), row.end(), s.values.data());
  const auto scale = written<float>(s.weight.i8_scales(), 1).front();
  const auto bytes = written<std::int8_t>(s.weight.as_i8(), 4);
  for (std::size_t i = 0; i < row.size(); ++i) {
    EXPECT_GE(bytes[i], -127);
    // The scale itself is rounded to the spacing of these numbers.
    EXPECT_NEAR(static_cast<double>(bytes[i]) * static_cast<double>(scale), static_cast<double>(row[i]),
                128 * static_cast<double>(tiny));
  }
}

TEST(StoredWeight, PartsOfSeveralTypesSomeTransposedAreOneMatrix) {
  const Tensor top = test::normal_tensor({2, 3}, 1);     // rows 0 and 1 as [2, 3]
  const Tensor bottom = test::normal_tensor({3, 4}, 2);  // rows 2 to 5, as their transpose
  std::vector<std::uint16_t> halves;
  for (const float value : bottom.elements()) halves.push_back(to_f16(value));
  StoredWeight weight;
  weight.view = {{6, 3},
                 {{reinterpret_cast<const std::byte*>(top.data()), DType::f32, 6, 0},
                  {reinterpret_cast<const std::byte*>(halves.data()), DType::f16, 12, 4}}};
  const auto all = written<float>(weight.as_f32(), 18);
  const auto turned = written<float>(weight.transposed_f32(), 18);
  for (std::size_t r = 0; r < 6; ++r) {
    for (std::size_t c = 0; c < 3; ++c) {
      const float expected =
          r < 2 ? top.data()[r * 3 + c] : half_value(to_f16(bottom.data()[c * 4 + (r - 2)]));
      EXPECT_EQ(all[r * 3 + c], expected);
      EXPECT_EQ(turned[c * 6 + r], expected);
    }
  }
  weight.view = weight.view.rows(2, 4);  // a whole transposed part
  EXPECT_EQ(written<float>(weight.as_f32(), 12), std::vector<float>(all.begin() + 6, all.end()));
  weight.view = WeightView{{2, 3}, {{reinterpret_cast<const std::byte*>(top.data()), DType::f32, 6, 0}}};
  weight.view = weight.view.rows(1, 1);
  EXPECT_EQ(written<float>(weight.as_f32(), 3), std::vector<float>(all.begin() + 3, all.begin() + 6));
}

TEST(LargestMagnitude, FindsWhatIsNotANumber) {
  Sample s({3, 5});
  s.values.data()[7] = -12.5F;
  EXPECT_EQ(largest_magnitude(s.weight.view), 12.5F);
  s.values.data()[14] = -kInfinity;
  EXPECT_TRUE(std::isinf(largest_magnitude(s.weight.view)));
  s.values.data()[0] = std::nanf("");
  EXPECT_TRUE(std::isnan(largest_magnitude(s.weight.view)));
}

}  // namespace
}  // namespace vit::exporter
