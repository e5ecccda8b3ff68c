#include "io/evaluation_charts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "tests/support/expect_error.hpp"

namespace vit::io {
namespace {

using Colour = std::array<int, 3>;

std::int64_t count(const Image& image, const Colour& colour) {
  std::int64_t found = 0;
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    found +=
        image.pixels[i] == colour[0] && image.pixels[i + 1] == colour[1] && image.pixels[i + 2] == colour[2];
  }
  return found;
}

TEST(EvaluationCharts, ConfusionHasACellOfItsShareForEachPair) {
  const Image image = draw_confusion({{"cat", "a very long name that needs to be cut", "d\xC3\xA9j\xC3\xA0"},
                                      {{4, 0, 0}, {0, 0, 9}, {0, 0, 0}},
                                      "title"});
  require_pixels(image, "chart");
  // Full rows: the cell but for its frame and the letters in it.
  EXPECT_GT(count(image, {33, 102, 172}), 1200);
  EXPECT_LT(count(image, {33, 102, 172}), 1600);
  EXPECT_GT(count(image, {214, 70, 55}), 1200);
  EXPECT_LT(count(image, {214, 70, 55}), 1600);
  EXPECT_ERROR(draw_confusion({{"a", "b"}, {{1, 2}}, "t"}), ErrorCode::invalid_argument, "each class");
  EXPECT_ERROR(draw_confusion({}), ErrorCode::invalid_argument, "each class");
}

TEST(EvaluationCharts, ReliabilityShowsTheShareAndTheGap) {
  Calibration calibration;
  calibration.bins[14] = {10, 1.0, 0.5};  // half of a plot of 360 pixels, 24 wide
  const Image image = draw_reliability(calibration);
  require_pixels(image, "chart");
  EXPECT_NEAR(static_cast<double>(count(image, {103, 153, 204})), 180 * 24, 700);
  EXPECT_NEAR(static_cast<double>(count(image, {235, 170, 160})), 180 * 24, 700);
}

TEST(EvaluationCharts, PicturesKeepTheirProportionsInASquare) {
  const Image wide{2, 4, std::vector<std::uint8_t>(24, 7)};
  const Image square = fit_into_square(wide, 64);
  EXPECT_EQ(square.height, 64);
  EXPECT_EQ(square.width, 64);
  EXPECT_EQ(count(square, {7, 7, 7}), 64 * 32);
  EXPECT_EQ(count(fit_into_square({1, 5000, std::vector<std::uint8_t>(15000, 7)}, 64), {7, 7, 7}), 64);
  EXPECT_ERROR(fit_into_square({}, 64), ErrorCode::invalid_argument, "picture");
}

}  // namespace
}  // namespace vit::io
