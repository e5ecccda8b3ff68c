#include "io/draw_labels.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/expect_error.hpp"

namespace vit::io {
namespace {

constexpr std::uint8_t kGray = 100;

Image gray(std::int64_t height, std::int64_t width) {
  return {height, width, std::vector<std::uint8_t>(static_cast<std::size_t>(3 * height * width), kGray)};
}

/// Where a picture is no longer gray.
struct Drawn {
  std::int64_t bottom = -1;
  std::int64_t right = -1;
  int brightest = 0;
  std::int64_t bright = 0;  ///< letters: values above 200
};

Drawn drawn_on(const Image& image) {
  Drawn drawn;
  for (std::int64_t i = 0; i < std::ssize(image.pixels); ++i) {
    const int value = image.pixels[static_cast<std::size_t>(i)];
    if (value == kGray) continue;
    drawn.bottom = std::max(drawn.bottom, i / 3 / image.width);
    drawn.right = std::max(drawn.right, i / 3 % image.width);
    drawn.brightest = std::max(drawn.brightest, value);
    drawn.bright += value > 200;
  }
  return drawn;
}

TEST(DrawLabels, WritesBrightOnDarkInTheCornerAndLeavesTheRest) {
  const Image image = draw_labels(gray(480, 640), std::vector<std::string>{"0.9123 cat", "0.0412 dog"});
  EXPECT_EQ(image.height, 480);
  EXPECT_EQ(image.width, 640);
  EXPECT_EQ(image.pixels[0], 35);  // 0.35 of the light
  const Drawn drawn = drawn_on(image);
  EXPECT_GT(drawn.brightest, 240);
  EXPECT_GT(drawn.bottom, 30);
  EXPECT_LT(drawn.bottom, 120);
  EXPECT_GT(drawn.right, 100);
  EXPECT_LT(drawn.right, 400);
  const Drawn more = drawn_on(draw_labels(gray(480, 640), std::vector<std::string>(4, "0.9123 cat")));
  EXPECT_GT(more.bottom, drawn.bottom);
  EXPECT_GT(more.bright, 1.5 * static_cast<double>(drawn.bright));
}

TEST(DrawLabels, LettersGrowWithThePicture) {
  const Drawn small = drawn_on(draw_labels(gray(480, 640), std::vector<std::string>{"cat"}));
  const Drawn large = drawn_on(draw_labels(gray(4800, 6400), std::vector<std::string>{"cat"}));
  EXPECT_NEAR(static_cast<double>(large.bottom) / static_cast<double>(small.bottom), 10, 1.5);
}

TEST(DrawLabels, LongTextStaysInside) {
  const std::string label = "0.5000 " + std::string(60, 'W');
  const Drawn drawn = drawn_on(draw_labels(gray(300, 900), std::vector<std::string>{label}));
  EXPECT_LT(drawn.right, 899);  // smaller letters
  const Drawn cut = drawn_on(draw_labels(gray(300, 300), std::vector<std::string>{label}));
  EXPECT_GT(cut.right, 270);  // cut off where the picture ends
  EXPECT_GT(cut.bright, 100);
  draw_labels(gray(200, 1), std::vector<std::string>{label});
  draw_labels(gray(1, 200), std::vector<std::string>(40, label));
}

TEST(DrawLabels, EnlargesWhatIsTooSmallForText) {
  Image image = gray(28, 30);
  image.pixels[3 * (27 * 30 + 29)] = 7;
  const Image drawn = draw_labels(image, {});
  ASSERT_EQ(drawn.height, 28 * 8);
  ASSERT_EQ(drawn.width, 30 * 8);
  for (std::int64_t y = 0; y < drawn.height; ++y) {
    for (std::int64_t x = 0; x < drawn.width; ++x) {
      const bool last = y >= 27 * 8 && x >= 29 * 8;
      ASSERT_EQ(drawn.pixels[static_cast<std::size_t>(3 * (y * drawn.width + x))], last ? 7 : kGray);
    }
  }
}

TEST(DrawLabels, TurnsThePictureUprightFirst) {
  Image image = gray(300, 400);
  image.orientation = 6;
  const Image drawn = draw_labels(image, std::vector<std::string>{"cat"});
  EXPECT_EQ(drawn.height, 400);
  EXPECT_EQ(drawn.width, 300);
  EXPECT_EQ(drawn.orientation, 1);
  EXPECT_NE(drawn.pixels[0], kGray);
}

TEST(DrawLabels, OtherLettersAreOneQuestionMarkEach) {
  const auto pixels = [](const std::string& text) {
    return draw_labels(gray(300, 400), std::vector<std::string>{text}).pixels;
  };
  EXPECT_EQ(pixels("Stra\u00dfe \u732b\t"), pixels("Stra?e ??"));
  EXPECT_NE(pixels("Strasse"), pixels("Stra?e"));
}

TEST(DrawLabels, RefusesWhatIsNoPicture) {
  EXPECT_ERROR(draw_labels({}, {}), ErrorCode::invalid_argument, "0 bytes for 0 x 0");
}

}  // namespace
}  // namespace vit::io
