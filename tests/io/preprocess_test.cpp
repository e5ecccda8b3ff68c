#include "io/preprocess.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/io/preprocess_data.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/expect_error.hpp"

namespace vit::io {
namespace {

using test::make_picture;

std::vector<float> run(const Image& image, const PreprocessConfig& config) {
  const Size2 size = config.output_size({image.height, image.width});
  std::vector<float> values(static_cast<std::size_t>(3 * size.height * size.width));
  preprocess(image, config, values);
  return values;
}

/// The reference raises: the file is refused, or the picture if only that one cannot be.
void expect_refused(const Json& c) {
  try {
    run(make_picture(c), parse_preprocessor_config(c["config"].dump(), "preprocessor_config.json"));
    ADD_FAILURE() << "the reference refuses this";
  } catch (const Error& error) {
    const bool about_picture = c["name"] == "picture too thin for the longest edge";
    EXPECT_EQ(error.code(), about_picture ? ErrorCode::image_unsupported : ErrorCode::config_invalid)
        << error.what();
  }
}

TEST(Preprocess, GivesTheTensorsOfTheReference) {
  const std::vector<float> stored = test::read_floats("recipes.bin");
  std::set<std::string> names;
  std::size_t compared = 0;
  for (const Json& c : test::read_cases("recipes.json", 60)) {
    SCOPED_TRACE(c.dump());
    names.insert(c["name"].get<std::string>());
    if (c.contains("refused")) {
      expect_refused(c);
      continue;
    }
    const PreprocessConfig config = parse_preprocessor_config(c["config"].dump(), "preprocessor_config.json");
    const Image picture = make_picture(c);
    const auto shape = c["shape"].get<Shape>();
    ASSERT_EQ(config.output_size({picture.height, picture.width}), (Size2{shape[1], shape[2]}));
    const std::vector<float> got = run(picture, config);
    const float* want = stored.data() + c["at"].get<std::size_t>();
    ASSERT_LE(c["at"].get<std::size_t>() + got.size(), stored.size());
    EXPECT_TRUE(test::matches("pixel_values", {got.data(), shape}, ConstTensorView{want, shape}, {1e-7}));
    ++compared;
  }
  EXPECT_GE(names.size(), 40U);
  EXPECT_GE(compared, 50U);
}

TEST(Preprocess, GivesTheTensorsOfDinov3sProcessor) {
  const std::vector<float> stored = test::read_floats("recipes_float.bin");
  for (const Json& c : test::read_cases("recipes_float.json", 14)) {
    SCOPED_TRACE(c.dump());
    const PreprocessConfig config = parse_preprocessor_config(c["config"].dump(), "preprocessor_config.json");
    EXPECT_EQ(config.arithmetic, RecipeArithmetic::tensors);
    const Image picture = make_picture(c);
    const auto shape = c["shape"].get<Shape>();
    ASSERT_EQ(config.output_size({picture.height, picture.width}), (Size2{shape[1], shape[2]}));
    const std::vector<float> got = run(picture, config);
    ASSERT_LE(c["at"].get<std::size_t>() + got.size(), stored.size());
    const float* want = stored.data() + c["at"].get<std::size_t>();
    // Two sums of up to ten floats there (of doubles here), each rounded at values up to 1, then divided by
    // 0.22: 20 * 6e-8 / 0.22, of a largest magnitude of 1.5 at least.
    EXPECT_TRUE(test::matches("pixel_values", {got.data(), shape}, ConstTensorView{want, shape}, {3.6e-6}));
  }
}

TEST(Resized, GivesPicturesThatSize) {
  PreprocessConfig recipe;
  for (const ResizeMode mode :
       {ResizeMode::none, ResizeMode::exact, ResizeMode::shortest_edge, ResizeMode::cover, ResizeMode::fit}) {
    for (const std::optional<Size2>& crop : {std::optional<Size2>(), {{224, 224}}, {{180, 240}}}) {
      recipe.resize = mode;
      recipe.crop = crop;
      recipe.size = {256, 288};
      recipe.edge = 256;
      for (const Size2 image : {Size2{224, 224}, {384, 384}, {100, 300}, {301, 99}, {1, 1}}) {
        for (const Size2 picture : {Size2{480, 640}, {640, 480}, {7, 7}})
          EXPECT_EQ(resized(recipe, image).output_size(picture), image);
      }
    }
  }
}

TEST(Resized, ShowsTheSameShareOfAPicture) {
  PreprocessConfig recipe;
  recipe.resize = ResizeMode::shortest_edge;
  recipe.edge = 256;
  recipe.crop = Size2{224, 224};
  const PreprocessConfig larger = resized(recipe, {384, 384});
  EXPECT_EQ(larger.resize, ResizeMode::shortest_edge);
  EXPECT_EQ(larger.edge, 439);  // 256/224 of it
  EXPECT_EQ(larger.crop, (Size2{384, 384}));
  const PreprocessConfig wide = resized(recipe, {224, 448});
  EXPECT_EQ(wide.resize, ResizeMode::cover);
  EXPECT_EQ(wide.size, (Size2{256, 512}));
  EXPECT_EQ(resized(recipe, {224, 224}).edge, 256);
  recipe.longest_edge = 448;
  EXPECT_EQ(resized(recipe, {112, 112}).longest_edge, 224);

  recipe = {};
  recipe.size = {224, 224};
  EXPECT_EQ(resized(recipe, {100, 300}).size, (Size2{100, 300}));
  recipe.size = {256, 256};
  recipe.crop = Size2{224, 224};
  EXPECT_EQ(resized(recipe, {112, 448}).size, (Size2{128, 512}));
  EXPECT_EQ(resized(recipe, {112, 448}).resize, ResizeMode::exact);
  for (const ResizeMode mode : {ResizeMode::cover, ResizeMode::fit}) {
    recipe.resize = mode;
    EXPECT_EQ(resized(recipe, {112, 448}).resize, mode);
    EXPECT_EQ(resized(recipe, {112, 448}).size, (Size2{128, 512}));
  }
}

/// The steps one by one, on numbers that a reader can check.
class Steps : public ::testing::Test {
 protected:
  Steps() {
    config.resize = ResizeMode::none;
    config.rescale = false;
    config.normalize = false;
  }

  /// Red is 10, 20, …; green one more, blue two more.
  static Image numbered(std::int64_t height, std::int64_t width) {
    Image image{height, width, {}};
    for (std::int64_t i = 1; i <= height * width; ++i) {
      for (const std::int64_t channel : {0, 1, 2}) {
        image.pixels.push_back(static_cast<std::uint8_t>(10 * i + channel));
      }
    }
    return image;
  }

  PreprocessConfig config;
};

TEST_F(Steps, ChannelsBecomePlanes) {
  EXPECT_EQ(run(numbered(1, 3), config), (std::vector<float>{10, 20, 30, 11, 21, 31, 12, 22, 32}));
}

TEST_F(Steps, CropOfAnOddMarginCutsLessBefore) {
  config.crop = Size2{1, 1};
  EXPECT_EQ(run(numbered(1, 4), config), (std::vector<float>{20, 21, 22}));
}

TEST_F(Steps, CropPadsMoreBefore) {
  config.crop = Size2{1, 4};
  EXPECT_EQ(run(numbered(1, 1), config), (std::vector<float>{0, 0, 10, 0, 0, 0, 11, 0, 0, 0, 12, 0}));
  config.crop = Size2{3, 1};
  EXPECT_EQ(run(numbered(2, 1), config), (std::vector<float>{0, 10, 20, 0, 11, 21, 0, 12, 22}));
}

TEST_F(Steps, TorchvisionRoundsTheMarginToEvenAndPadsMoreBehind) {
  config.arithmetic = RecipeArithmetic::torchvision;
  config.normalize = true;
  config.mean = {0, 0, 0};
  config.std = {1 / 255.0, 1 / 255.0, 1 / 255.0};
  const auto red = [&](std::int64_t width, std::int64_t crop) {
    config.crop = Size2{1, crop};
    const std::vector<float> values = run(numbered(1, width), config);
    std::vector<int> rounded;
    for (std::int64_t i = 0; i < crop; ++i)
      rounded.push_back(static_cast<int>(std::lround(values[static_cast<std::size_t>(i)])));
    return rounded;
  };
  EXPECT_EQ(red(4, 3), (std::vector<int>{10, 20, 30}));  // half a pixel: 0
  EXPECT_EQ(red(4, 1), (std::vector<int>{30}));          // one and a half: 2
  EXPECT_EQ(red(6, 1), (std::vector<int>{30}));          // two and a half: 2
  EXPECT_EQ(red(1, 4), (std::vector<int>{0, 10, 0, 0}));
  config.fill = {7, 8, 9};
  EXPECT_EQ(red(2, 3), (std::vector<int>{10, 20, 7}));
}

TEST_F(Steps, CropPadsOneAxisAndCutsTheOther) {
  config.crop = Size2{3, 1};
  EXPECT_EQ(run(numbered(1, 3), config), (std::vector<float>{0, 20, 0, 0, 21, 0, 0, 22, 0}));
}

TEST_F(Steps, ZerosOfThePaddingAreNormalised) {
  config.crop = Size2{1, 2};
  config.normalize = true;
  config.mean = {2, 3, 4};
  config.std = {2, 4, 8};
  EXPECT_EQ(run(numbered(1, 1), config), (std::vector<float>{-1, 4, -0.75F, 2, -0.5F, 1}));
}

TEST_F(Steps, RescaleThenNormalise) {
  config.rescale = true;
  config.rescale_factor = 0.5;
  config.normalize = true;
  config.mean = {1, 1, 1};
  config.std = {4, 4, 4};
  EXPECT_EQ(run(numbered(1, 1), config), (std::vector<float>{1, 1.125F, 1.25F}));
}

TEST_F(Steps, ResizeGoesFirst) {
  config.resize = ResizeMode::exact;
  config.size = {2, 2};
  config.interpolation = Interpolation::nearest;
  config.crop = Size2{2, 1};
  EXPECT_EQ(run(numbered(4, 4), config), (std::vector<float>{60, 140, 61, 141, 62, 142}));
}

TEST(OutputSize, FollowsTheRecipe) {
  PreprocessConfig config;
  EXPECT_EQ(config.output_size({480, 640}), (Size2{224, 224}));
  config.resize = ResizeMode::none;
  EXPECT_EQ(config.output_size({480, 640}), (Size2{480, 640}));
  config.resize = ResizeMode::shortest_edge;
  config.edge = 256;
  EXPECT_EQ(config.output_size({375, 500}), (Size2{256, 341}));  // 341.33
  EXPECT_EQ(config.output_size({500, 375}), (Size2{341, 256}));
  EXPECT_EQ(config.output_size({100, 100}), (Size2{256, 256}));
  EXPECT_EQ(config.output_size({300, 1199}), (Size2{256, 1023}));  // 1023.15
  config.longest_edge = 300;
  EXPECT_EQ(config.output_size({300, 300}), (Size2{256, 256}));
  EXPECT_EQ(config.output_size({300, 600}), (Size2{150, 300}));
  config.crop = Size2{224, 192};
  EXPECT_EQ(config.output_size({375, 500}), (Size2{224, 192}));
}

TEST(OutputSize, InProportion) {
  PreprocessConfig config;
  config.size = {20, 28};
  config.resize = ResizeMode::cover;
  EXPECT_EQ(config.output_size({40, 40}), (Size2{28, 28}));
  EXPECT_EQ(config.output_size({30, 29}), (Size2{29, 28}));  // 28.97
  config.resize = ResizeMode::fit;
  EXPECT_EQ(config.output_size({40, 40}), (Size2{20, 20}));
  EXPECT_EQ(config.output_size({8, 1}), (Size2{20, 2}));   // 2.5
  EXPECT_EQ(config.output_size({40, 3}), (Size2{20, 2}));  // 1.5
}

TEST(OutputSize, RefusesWhatCannotBe) {
  PreprocessConfig config;
  EXPECT_ERROR(config.output_size({0, 5}), ErrorCode::invalid_argument, "5 x 0");
  config.resize = ResizeMode::shortest_edge;
  EXPECT_ERROR(config.output_size({20'000, 1}), ErrorCode::image_too_large, "1 x 20000", "224 x 4480000");
  config.crop = Size2{224, 224};
  EXPECT_EQ(config.output_size({20'000, 1}), (Size2{224, 224}));
  EXPECT_ERROR(config.output_size({200'000'000, 1}), ErrorCode::image_too_large, "1 x 200000000");
  config.longest_edge = 300;
  EXPECT_ERROR(config.output_size({20'000, 1}), ErrorCode::image_unsupported, "1 x 20000",
               "too long and thin");
}

TEST(Preprocess, ExtremePicturesGoThroughACrop) {
  PreprocessConfig config;
  config.resize = ResizeMode::shortest_edge;
  config.crop = Size2{224, 224};
  for (const Size2 size : {Size2{20'000, 1}, Size2{1, 20'000}, Size2{1, 1}}) {
    const std::vector<float> values = run(make_picture("edges", size.height, size.width, 6), config);
    EXPECT_EQ(values.size(), 3U * 224 * 224);
    for (const float value : values) ASSERT_TRUE(value >= -1 && value <= 1) << value;
  }
}

TEST(Preprocess, RefusesWrongRoom) {
  const Image picture = make_picture("noise", 4, 5, 1);
  std::vector<float> values(3 * 224 * 224 + 1);
  EXPECT_ERROR(preprocess(picture, {}, values), ErrorCode::invalid_argument, "150529", "[3, 224, 224]");
  EXPECT_ERROR(preprocess(picture, {}, std::span(values).first(3)), ErrorCode::invalid_argument,
               "room for 3");
  const Image broken{4, 5, std::vector<std::uint8_t>(10)};
  EXPECT_ERROR(preprocess(broken, {}, std::span(values).first(3 * 224 * 224)), ErrorCode::invalid_argument,
               "10 bytes");
}

}  // namespace
}  // namespace vit::io
