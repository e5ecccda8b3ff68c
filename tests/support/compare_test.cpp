// The comparer must be able to fail: each case plants one fault.
#include "tests/support/compare.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <vector>

namespace vit::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Comparison compare_2x3(std::vector<float> got, std::vector<float> want, Bound bound = {1e-5}) {
  return compare("logits", ConstTensorView{got.data(), {2, 3}}, ConstTensorView{want.data(), {2, 3}}, bound);
}

TEST(Compare, EqualTensorsPass) {
  const Comparison result = compare_2x3({1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(result.problem, IsEmpty());
  EXPECT_EQ(result.error, 0);
}

TEST(Compare, ErrorIsAShareOfTheLargestExpectedMagnitude) {
  const Comparison result = compare_2x3({1, 2, 3, 4, 5.5F, -8}, {1, 2, 3, 4, 5, -8}, {0.1});
  EXPECT_THAT(result.problem, IsEmpty());
  EXPECT_DOUBLE_EQ(result.error, 0.5 / 8);
}

TEST(Compare, FailureNamesTensorElementAndValues) {
  EXPECT_THAT(compare_2x3({1, 2, 3, 4, 5.5F, -8}, {1, 2, 3, 4, 5, -8}).problem,
              AllOf(HasSubstr("logits [2, 3]"), HasSubstr("[1, 1] = 5.5, expected 5"), HasSubstr("0.0625"),
                    HasSubstr("1e-05")));
}

// gemma.cpp's comparer divided by a signed magnitude and missed this one (negative on both sides).
TEST(Compare, NegativeValuesAreComparedByMagnitude) {
  EXPECT_FALSE(compare_2x3({-1, -2, -3, -4, -5, -6}, {-2, -2, -3, -4, -5, -6}));
  EXPECT_FALSE(compare_2x3({1, 2, 3, 4, 5, 6}, {-1, -2, -3, -4, -5, -6}));
}

TEST(Compare, NotFiniteFails) {
  EXPECT_THAT(compare_2x3({1, 2, kNan, 4, 5, 6}, {1, 2, 3, 4, 5, 6}).problem, HasSubstr("[0, 2] = nan"));
  EXPECT_FALSE(compare_2x3({1, 2, 3, 4, 5, kInfinity}, {1, 2, 3, 4, 5, 6}, {1e9}));
  EXPECT_FALSE(compare_2x3({1, 2, kNan, 4, 5, 6}, {1, 2, kNan, 4, 5, 6})) << "NaN is never an expectation";
  EXPECT_FALSE(compare_2x3({1, 2, 3, 4, 5, kInfinity}, {1, 2, 3, 4, 5, kInfinity}));
}

TEST(Compare, ZeroOrConstantOutputFailsWithinAnyBound) {
  EXPECT_THAT(compare_2x3({0, 0, 0, 0, 0, 0}, {1, 2, 3, 4, 5, 6}, {100}).problem,
              HasSubstr("every element is 0"));
  EXPECT_FALSE(compare_2x3({3, 3, 3, 3, 3, 3}, {1, 2, 3, 4, 5, 6}, {100}));
  EXPECT_TRUE(compare_2x3({3, 3, 3, 3, 3, 3}, {3, 3, 3, 3, 3, 3})) << "a constant that is expected is right";
}

TEST(Compare, AnythingWhereZerosAreExpectedFails) {
  EXPECT_TRUE(compare_2x3({0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}));
  EXPECT_FALSE(compare_2x3({0, 0, 0, 0, 0, 1e-30F}, {0, 0, 0, 0, 0, 0}, {1e9}));
}

TEST(Compare, ShapesMustBeEqual) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  EXPECT_THAT(compare("x", {values.data(), {3, 2}}, {values.data(), {2, 3}}, {1}).problem,
              HasSubstr("shape [3, 2], expected [2, 3]"));
  EXPECT_FALSE(compare("x", {values.data(), {2}}, {values.data(), {3}}, {1}));
}

TEST(Compare, ElementCountsMustFitTheShape) {
  const std::vector<float> got{1, 2, 3};
  const std::vector<double> want{1, 2};
  EXPECT_FALSE(compare("x", got, want, std::vector<std::int64_t>{3}, {1}));
  EXPECT_FALSE(compare("x", got, want, std::vector<std::int64_t>{2}, {1}));
}

TEST(Compare, NothingToCompareFails) {
  EXPECT_FALSE(compare("x", {nullptr, {0, 3}}, {nullptr, {0, 3}}, {1}));
}

TEST(Compare, BoundThatIsTooLooseFails) {
  EXPECT_THAT(compare_2x3({1, 2, 3, 4, 5, 6.001F}, {1, 2, 3, 4, 5, 6}, {1e-1, 1e-2}).problem,
              HasSubstr("tighten"));
  EXPECT_TRUE(compare_2x3({1, 2, 3, 4, 5, 6.1F}, {1, 2, 3, 4, 5, 6}, {1e-1, 1e-2}));
}

TEST(Compare, BoundOfNanFails) {
  EXPECT_FALSE(compare_2x3({1, 2, 3, 4, 5, 7}, {1, 2, 3, 4, 5, 6}, {kNan}));
}

TEST(Compare, MatchesReportsTheProblem) {
  const std::vector<float> got{1, 2, 4};
  const std::vector<double> want{1, 2, 3};
  EXPECT_TRUE(matches("x", {got.data(), {3}}, {got.data(), {3}}, {1e-5}));
  EXPECT_FALSE(matches("x", {got.data(), {3}}, want, {1e-5}));
  EXPECT_STREQ(
      matches("x", {got.data(), {3}}, want, {1e-5}).message(),
      "x [3]: [2] = 4, expected 3; error 0.333 of the largest magnitude 3, at most 1e-05 is allowed");
}

}  // namespace
}  // namespace vit::test
