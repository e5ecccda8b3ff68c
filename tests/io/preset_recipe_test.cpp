#include "io/preset_recipe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/expect_error.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

using testing::ElementsAre;

PreprocessConfig parse(const char* preset, const std::optional<Size2>& image = std::nullopt) {
  return parse_preset(parse_json_object(preset, "preset.json"), "origin", "preset.json", image);
}

TEST(PresetRecipe, HasTheDefaultsOfTorchvision) {
  const PreprocessConfig recipe = parse(R"({"crop_size": 224})");
  EXPECT_EQ(recipe.source, "origin");
  EXPECT_EQ(recipe.arithmetic, RecipeArithmetic::torchvision);
  EXPECT_EQ(recipe.exif, Exif::ignore);
  EXPECT_EQ(recipe.resize, ResizeMode::shortest_edge);
  EXPECT_EQ(recipe.edge, 256);
  EXPECT_EQ(recipe.crop, (Size2{224, 224}));
  EXPECT_EQ(recipe.interpolation, Interpolation::bilinear);
  EXPECT_THAT(recipe.mean, ElementsAre(0.485, 0.456, 0.406));
  EXPECT_THAT(recipe.std, ElementsAre(0.229, 0.224, 0.225));
  EXPECT_EQ(recipe.output_size({300, 500}), (Size2{224, 224}));
}

TEST(PresetRecipe, TakesWhatIsSaid) {
  const PreprocessConfig recipe = parse(
      R"({"crop_size": [20, 30], "resize_size": 33, "interpolation": "bicubic", "mean": [1, 2, 3], "std": [4, 5, 6]})");
  EXPECT_EQ(recipe.edge, 33);
  EXPECT_EQ(recipe.crop, (Size2{20, 30}));
  EXPECT_EQ(recipe.interpolation, Interpolation::bicubic);
  EXPECT_THAT(recipe.mean, ElementsAre(1, 2, 3));
  EXPECT_THAT(recipe.std, ElementsAre(4, 5, 6));
  const PreprocessConfig exact = parse(R"({"crop_size": null, "resize_size": [40, 50]})");
  EXPECT_EQ(exact.output_size({300, 500}), (Size2{40, 50}));
  EXPECT_FALSE(exact.crop);
  const PreprocessConfig edge = parse(R"({"crop_size": null, "resize_size": 40})");
  EXPECT_EQ(edge.output_size({80, 100}), (Size2{40, 50}));
}

TEST(PresetRecipe, WithoutACropMeansTheSizeOfTheNetwork) {
  const PreprocessConfig crop = parse("{}", Size2{224, 224});
  EXPECT_EQ(crop.edge, 256);
  EXPECT_EQ(crop.crop, (Size2{224, 224}));
  EXPECT_EQ(parse("{}", Size2{384, 384}).edge, 439);  // 438.9
  EXPECT_EQ(parse("{}", Size2{32, 32}).edge, 37);     // 36.6
  const PreprocessConfig exact = parse(R"({"crop_size": null})", Size2{70, 84});
  EXPECT_EQ(exact.resize, ResizeMode::exact);
  EXPECT_EQ(exact.size, (Size2{70, 84}));
  EXPECT_FALSE(exact.crop);
  EXPECT_EQ(parse(R"({"crop_size": 20})", Size2{70, 84}).crop, (Size2{20, 20}));
  EXPECT_ERROR(parse("{}"), ErrorCode::config_invalid, "preset.json", "crop_size");
}

TEST(PresetRecipe, NamesWhatIsWrong) {
  for (const auto& [preset, part] :
       {std::pair(R"({"crop_size": 0})", "crop_size"), std::pair(R"({"crop_size": -3})", "crop_size"),
        std::pair(R"({"crop_size": "224"})", "crop_size"), std::pair(R"({"crop_size": 1.5})", "crop_size"),
        std::pair(R"({"crop_size": [224]})", "crop_size"),
        std::pair(R"({"crop_size": [1, 2, 3]})", "crop_size"),
        std::pair(R"({"crop_size": [224, 99999]})", "crop_size[1]"),
        std::pair(R"({"crop_size": {"height": 2}})", "crop_size"),
        std::pair(R"({"crop_size": 9, "resize_size": 99999})", "resize_size"),
        std::pair(R"({"crop_size": 9, "resize_size": [1]})", "resize_size"),
        std::pair(R"({"crop_size": 9, "resize_size": true})", "resize_size"),
        std::pair(R"({"crop_size": 9, "interpolation": 3})", "interpolation"),
        std::pair(R"({"crop_size": 9, "mean": [1, 2]})", "mean"),
        std::pair(R"({"crop_size": 9, "mean": "x"})", "mean"),
        std::pair(R"({"crop_size": 9, "mean": [1, 2, 1e300]})", "mean"),
        std::pair(R"({"crop_size": 9, "std": [1, 0, 1]})", "std"),
        std::pair(R"({"crop_size": 9, "std": [1, null, 1]})", "std[1]")}) {
    EXPECT_ERROR(parse(preset), ErrorCode::config_invalid, "preset.json", part);
  }
  EXPECT_ERROR(parse(R"({"crop_size": 9, "interpolation": "area"})"), ErrorCode::model_unsupported,
               "preset.json", "area", "bicubic");
}

}  // namespace
}  // namespace vit::io
