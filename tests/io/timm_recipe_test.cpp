#include "io/timm_recipe.hpp"

#include <gtest/gtest.h>

#include "io/checkpoint.hpp"
#include "tests/io/preprocess_data.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::io {
namespace {

PreprocessConfig parse(const Json& pretrained_cfg) {
  return parse_timm_recipe({{"architecture", "vit_tiny_patch16_224"}, {"pretrained_cfg", pretrained_cfg}},
                           "config.json");
}

std::vector<float> run(const Image& image, const PreprocessConfig& config) {
  const Size2 size = config.output_size({image.height, image.width});
  std::vector<float> values(static_cast<std::size_t>(3 * size.height * size.width));
  preprocess(image, config, values);
  return values;
}

TEST(TimmRecipe, GivesTheTensorsOfTimm) {
  const std::vector<float> stored = test::read_floats("timm_recipes.bin");
  for (const Json& c : test::read_cases("timm_recipes.json", 90)) {
    SCOPED_TRACE(c.dump());
    const std::vector<float> got = run(test::make_picture(c), parse(c["pretrained_cfg"]));
    const auto shape = c["shape"].get<Shape>();
    ASSERT_EQ(static_cast<std::int64_t>(got.size()), element_count(shape));
    const float* want = stored.data() + c["at"].get<std::size_t>();
    ASSERT_LE(c["at"].get<std::size_t>() + got.size(), stored.size());
    EXPECT_TRUE(test::matches("pixel_values", {got.data(), shape}, ConstTensorView{want, shape}, {1e-7}));
  }
}

TEST(TimmRecipe, LooksAtNoExif) {
  EXPECT_EQ(parse(Json::object()).exif, Exif::ignore);
  EXPECT_EQ(parse(Json::object()).transparency, Transparency::drop);
}

TEST(TimmRecipe, TakesTheSizeThatTheNetworkWasBuiltFor) {
  const auto crop = [](const Json& cfg, const Json& args) {
    return parse_timm_recipe({{"architecture", "x"}, {"pretrained_cfg", cfg}, {"model_args", args}}, "c")
        .crop;
  };
  const Json fixed{{"input_size", {3, 224, 224}}, {"fixed_input_size", true}};
  EXPECT_EQ(crop(fixed, {{"img_size", 96}}), (Size2{96, 96}));
  EXPECT_EQ(crop(fixed, {{"img_size", {96, 64}}}), (Size2{96, 64}));
  EXPECT_EQ(crop(fixed, {{"img_size", 96}, {"dynamic_img_size", true}}), (Size2{224, 224}));
  EXPECT_EQ(crop({{"input_size", {3, 224, 224}}}, {{"img_size", 96}}), (Size2{224, 224}));
}

TEST(TimmRecipe, RefusesWhatCannotBe) {
  const auto with = [](const char* key, const Json& value) { return parse({{key, value}}); };
  EXPECT_ERROR(with("interpolation", "random"), ErrorCode::model_unsupported, "interpolation", "random");
  EXPECT_ERROR(with("crop_mode", "corner"), ErrorCode::model_unsupported, "crop_mode", "corner", "squash");
  EXPECT_ERROR(with("input_size", {1, 28, 28}), ErrorCode::model_unsupported, "input_size", "1 channels");
  EXPECT_ERROR(with("input_size", {28, 28}), ErrorCode::config_invalid, "input_size");
  EXPECT_ERROR(with("input_size", {3, 0, 28}), ErrorCode::config_invalid, "input_size[1]");
  EXPECT_ERROR(with("crop_pct", -0.5), ErrorCode::config_invalid, "crop_pct", "-0.5");
  EXPECT_ERROR(with("crop_pct", 1e-9), ErrorCode::config_invalid, "crop_pct");
  EXPECT_ERROR(with("mean", {0.5}), ErrorCode::config_invalid, "mean", "3 numbers");
  EXPECT_ERROR(with("std", {0.5, 0, 0.5}), ErrorCode::config_invalid, "std", "zeros");
}

TEST(TimmRecipe, IsNeverBlendedWithAnother) {
  const test::TempFolder folder;
  folder.write("config.json",
               R"({"architecture": "vit_tiny_patch16_224", "pretrained_cfg": {"crop_pct": 0.5}})");
  folder.write("preprocessor_config.json", R"({"image_processor_type": "ViTImageProcessor", "size": 96})");
  const PreprocessConfig timm = load_preprocess_config(folder.path());
  EXPECT_EQ(timm.edge, 448);
  EXPECT_EQ(timm.exif, Exif::ignore);
  const PreprocessConfig other = load_preprocess_config(folder.path() / "preprocessor_config.json");
  EXPECT_EQ(other.size, (Size2{96, 96}));
  EXPECT_EQ(other.exif, Exif::apply);
}

}  // namespace
}  // namespace vit::io
