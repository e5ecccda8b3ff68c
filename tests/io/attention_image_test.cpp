#include "io/attention_image.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <vector>

#include "tests/io/image_cases.hpp"
#include "tests/support/expect_error.hpp"

namespace vit::io {
namespace {

using Rgb = std::array<int, 3>;

Image plain(std::int64_t height, std::int64_t width, std::uint8_t level = 100) {
  return {height, width, std::vector<std::uint8_t>(static_cast<std::size_t>(3 * height * width), level)};
}

Rgb pixel(const Image& image, std::int64_t y, std::int64_t x) {
  const std::uint8_t* at = &image.pixels[static_cast<std::size_t>(3 * (y * image.width + x))];
  return {at[0], at[1], at[2]};
}

/// matplotlib's inferno, of which OpenCV's table is a copy: first, last and a middle colour.
constexpr Rgb kDarkest{0, 0, 4};
constexpr Rgb kBrightest{252, 255, 164};
constexpr Rgb kMiddle{188, 55, 84};  // 128 of 256

void expect_near(const Rgb& got, const Rgb& expected, int tolerance = 1) {
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_LE(std::abs(got[i] - expected[i]), tolerance) << got[0] << " " << got[1] << " " << got[2];
}

/// `map` over the middle of a picture of 60 x 80 pixels: rows 10 … 50, columns 20 … 60, two cells of 20 each
/// way.
constexpr MapPlacement kMiddleOfPicture{{10, 20}, {20, 20}};
const std::vector<float> kCorners{1, 2, 3, 5};  // the smallest upper left, the largest lower right

Image over_the_middle(const Image& picture, double alpha) {
  return draw_overlay(picture, {kCorners.data(), {2, 2}}, kMiddleOfPicture, {.alpha = alpha});
}

TEST(Overlay, LowestAndHighestGetTheEndsOfTheColours) {
  const Image overlay = over_the_middle(plain(60, 80), 1);
  expect_near(pixel(overlay, 10, 20), kDarkest);  // beyond a corner cell's middle nothing is extrapolated
  expect_near(pixel(overlay, 19, 29), kDarkest);
  expect_near(pixel(overlay, 49, 59), kBrightest);
  expect_near(pixel(overlay, 41, 51), kBrightest);
}

TEST(Overlay, InterpolatesBetweenTheMiddlesOfCells) {
  const std::vector<float> ramp{0, 1};
  const Image overlay =
      draw_overlay(plain(4, 201), {ramp.data(), {1, 2}}, {{0, 4}, {0, 100.5}}, {.alpha = 1});
  expect_near(pixel(overlay, 0, 100), kMiddle, 2);
  expect_near(pixel(overlay, 3, 100), kMiddle, 2);
  expect_near(pixel(overlay, 0, 49), kDarkest, 2);
  expect_near(pixel(overlay, 0, 151), kBrightest, 2);
}

TEST(Overlay, ClippedOutliersLeaveColoursToTheRest) {
  const std::vector<float> outlier{0, 1, 0.5F, 100};
  const auto overlay = [&](double clip) {
    return draw_overlay(plain(1, 4), {outlier.data(), {1, 4}}, {{0, 1}, {0, 1}}, {.alpha = 1, .clip = clip});
  };
  expect_near(pixel(overlay(0), 0, 1), kDarkest, 12);
  const Image clipped = overlay(0.25);
  expect_near(pixel(clipped, 0, 0), kDarkest);
  expect_near(pixel(clipped, 0, 1), kBrightest);
  expect_near(pixel(clipped, 0, 2), kMiddle, 2);
  expect_near(pixel(clipped, 0, 3), kBrightest);
  expect_near(pixel(overlay(1), 0, 3), kDarkest);  // all of one level
}

TEST(Overlay, BlendsWithThePicture) {
  expect_near(pixel(over_the_middle(plain(60, 80, 200), 0.25), 49, 59), {213, 214, 191});
  const Image untouched = over_the_middle(plain(60, 80, 200), 0);
  expect_near(pixel(untouched, 30, 40), {200, 200, 200}, 0);
}

TEST(Overlay, WhatWasNotSeenKeepsItsColoursFaded) {
  Image picture = plain(60, 80);
  for (std::size_t i = 0; i < picture.pixels.size(); i += 3) {
    picture.pixels[i] = 200;
    picture.pixels[i + 2] = 40;
  }
  const Image overlay = over_the_middle(picture, 0.6);
  for (std::int64_t y = 0; y < 60; ++y) {
    for (std::int64_t x = 0; x < 80; ++x) {
      const bool seen = y >= 10 && y < 50 && x >= 20 && x < 60;
      ASSERT_EQ(pixel(overlay, y, x) == (Rgb{228, 178, 148}), !seen) << y << " " << x;
    }
  }
}

TEST(Overlay, PixelsOnTheEdgeBelongByTheirMiddle) {
  const std::vector<float> one{7};
  const Image overlay = draw_overlay(plain(1, 6), {one.data(), {1, 1}}, {{0, 1}, {1.4, 3}}, {.alpha = 1});
  const Rgb faded{178, 178, 178};
  EXPECT_EQ(pixel(overlay, 0, 0), faded);
  expect_near(pixel(overlay, 0, 1), kDarkest);  // 1.5 lies in 1.4 … 4.4; a map of one level is dark
  expect_near(pixel(overlay, 0, 3), kDarkest);
  EXPECT_EQ(pixel(overlay, 0, 4), faded);
}

TEST(Overlay, PaddingIsCutOff) {
  const std::vector<float> columns{0, 1, 2, 3};
  const Image overlay =
      draw_overlay(plain(10, 20), {columns.data(), {1, 4}}, {{-5, 20}, {-20, 15}}, {.alpha = 1});
  EXPECT_NE(pixel(overlay, 0, 0), (Rgb{178, 178, 178}));
  expect_near(pixel(overlay, 9, 2), pixel(overlay, 0, 2), 0);
}

TEST(Overlay, RefusesWhatIsNoMap) {
  const std::vector<float> map(4);
  EXPECT_ERROR(draw_overlay(plain(4, 4), {map.data(), {4}}, {}), ErrorCode::invalid_argument, "[4]");
  EXPECT_ERROR(draw_overlay(plain(4, 4), {map.data(), {0, 4}}, {}), ErrorCode::invalid_argument, "[0, 4]");
  EXPECT_ERROR(draw_overlay({4, 5, {}}, {map.data(), {2, 2}}, {}), ErrorCode::invalid_argument, "0 bytes");
}

TEST(MapPlacement, FollowsTheInputsGeometry) {
  PreprocessConfig config;
  config.resize = ResizeMode::shortest_edge;
  config.edge = 240;
  config.crop = Size2{200, 200};
  const MapPlacement placement = place_patches(input_geometry({480, 640}, config), {10, 20});
  EXPECT_EQ(placement.rows, (AxisGeometry{40, 20}));
  EXPECT_EQ(placement.columns, (AxisGeometry{120, 40}));
  const MapPlacement small = rescaled(placement, {480, 640}, {48, 64});
  EXPECT_EQ(small.rows, (AxisGeometry{4, 2}));
  EXPECT_EQ(small.columns, (AxisGeometry{12, 4}));
}

TEST(Thumbnail, HasALongerSideOfThatLength) {
  const Image wide = thumbnail(plain(30, 90), 60);
  EXPECT_EQ(wide.height, 20);
  EXPECT_EQ(wide.width, 60);
  const Image enlarged = thumbnail(plain(7, 5), 70);
  EXPECT_EQ(enlarged.height, 70);
  EXPECT_EQ(enlarged.width, 50);
  EXPECT_EQ(thumbnail(plain(1, 2000), 100).height, 1);
  Image turned = plain(4, 8);
  turned.orientation = 6;
  EXPECT_EQ(thumbnail(turned, 4).orientation, 6);
}

/// The whole way, for each EXIF orientation and both ways to treat it: the patch that sees a white corner of
/// the upright picture gets its colour where the corner is in the upright overlay.
TEST(Overlay, LiesOnTheUprightPictureWhateverExifSays) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const Exif exif : {Exif::apply, Exif::ignore}) {
      SCOPED_TRACE(orientation);
      // What a camera stores: 64 x 96, a white block at the upper left, and how it is to be turned.
      Image image = plain(64, 96, 0);
      for (std::int64_t y = 0; y < 16; ++y)
        std::fill_n(&image.pixels[static_cast<std::size_t>(3 * y * image.width)], 3 * 16, std::uint8_t{255});
      image.orientation = orientation;
      Image upright = image;
      turn_upright(upright);
      if (exif == Exif::apply) image = upright;

      PreprocessConfig config;
      config.size = {32, 32};
      const Tensor seen = preprocess(image, config);
      std::vector<float> brightness(16);  // of patches of 8 x 8
      for (std::int64_t y = 0; y < 32; ++y) {
        for (std::int64_t x = 0; x < 32; ++x)
          brightness[static_cast<std::size_t>(y / 8 * 4 + x / 8)] += seen.data()[y * 32 + x];
      }
      const MapPlacement placement =
          place_patches(input_geometry({image.height, image.width}, config), {8, 8});
      Image overlay = draw_overlay(image, {brightness.data(), {4, 4}}, placement, {.alpha = 1});
      turn_upright(overlay);

      ASSERT_EQ(overlay.height, upright.height);
      ASSERT_EQ(overlay.width, upright.width);
      const std::int64_t bottom = upright.height - 1;
      const std::int64_t right = upright.width - 1;
      for (const auto& [y, x] :
           {std::pair<std::int64_t, std::int64_t>{0, 0}, {0, right}, {bottom, 0}, {bottom, right}})
        expect_near(pixel(overlay, y, x), pixel(upright, y, x)[0] > 0 ? kBrightest : kDarkest, 2);
    }
  }
}

}  // namespace
}  // namespace vit::io
