// Where the network's pixels lie in the picture: by hand, and by marks that preprocess() itself carries over.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "io/preprocess.hpp"
#include "tests/support/expect_error.hpp"

namespace vit::io {
namespace {

/// Edges that `geometry` gives to the whole input: top, bottom, left, right.
std::vector<double> edges(const InputGeometry& geometry) {
  return {geometry.rows.at(0), geometry.rows.at(static_cast<double>(geometry.input.height)),
          geometry.columns.at(0), geometry.columns.at(static_cast<double>(geometry.input.width))};
}

PreprocessConfig shortest_edge(std::int64_t edge, std::optional<Size2> crop) {
  PreprocessConfig config;
  config.resize = ResizeMode::shortest_edge;
  config.edge = edge;
  config.crop = crop;
  return config;
}

TEST(InputGeometry, ShortestEdgeAndCrop) {
  // 480 x 640 to 240 x 320, the middle 200 x 200: rows 20 … 220, columns 60 … 260, twice as large in the
  // picture.
  const InputGeometry geometry = input_geometry({480, 640}, shortest_edge(240, Size2{200, 200}));
  EXPECT_EQ(geometry.input, (Size2{200, 200}));
  EXPECT_EQ(edges(geometry), (std::vector<double>{40, 440, 120, 520}));
  EXPECT_EQ(edges(input_geometry({640, 480}, shortest_edge(240, Size2{200, 200}))),
            (std::vector<double>{120, 520, 40, 440}));
}

TEST(InputGeometry, SquashedPicturesAreSeenWhole) {
  PreprocessConfig config;
  config.size = {224, 224};
  const InputGeometry geometry = input_geometry({100, 300}, config);
  EXPECT_EQ(edges(geometry), (std::vector<double>{0, 100, 0, 300}));
  EXPECT_DOUBLE_EQ(geometry.rows.step, 100.0 / 224);
  EXPECT_DOUBLE_EQ(geometry.columns.step, 300.0 / 224);
}

TEST(InputGeometry, WithoutAResize) {
  PreprocessConfig config;
  config.resize = ResizeMode::none;
  EXPECT_EQ(edges(input_geometry({30, 50}, config)), (std::vector<double>{0, 30, 0, 50}));
  config.crop = Size2{20, 20};
  EXPECT_EQ(edges(input_geometry({30, 50}, config)), (std::vector<double>{5, 25, 15, 35}));
}

TEST(InputGeometry, PaddingLiesBesideThePicture) {
  PreprocessConfig config;
  config.resize = ResizeMode::fit;  // timm's border mode
  config.size = {64, 64};
  config.crop = Size2{64, 64};
  config.arithmetic = RecipeArithmetic::torchvision;
  // 100 x 200 to 32 x 64, 16 rows of padding above and below: 50 of the picture's.
  EXPECT_EQ(edges(input_geometry({100, 200}, config)), (std::vector<double>{-50, 150, 0, 200}));
}

TEST(InputGeometry, OddMarginsFollowTheReference) {
  PreprocessConfig config;
  config.resize = ResizeMode::none;
  config.crop = Size2{2, 4};
  EXPECT_EQ(edges(input_geometry({1, 1}, config)), (std::vector<double>{-1, 1, -2, 2}));  // more in front
  EXPECT_EQ(edges(input_geometry({5, 7}, config)), (std::vector<double>{1, 3, 1, 5}));
  config.arithmetic = RecipeArithmetic::torchvision;
  EXPECT_EQ(edges(input_geometry({1, 1}, config)), (std::vector<double>{0, 2, -1, 3}));
  EXPECT_EQ(edges(input_geometry({5, 7}, config)), (std::vector<double>{2, 4, 2, 6}));  // half to even
}

TEST(InputGeometry, RefusesWhatOutputSizeRefuses) {
  EXPECT_ERROR(input_geometry({0, 5}, {}), ErrorCode::invalid_argument, "5 x 0");
}

// ---- marks

struct Recipe {
  std::string name;
  PreprocessConfig config;
};

std::ostream& operator<<(std::ostream& out, const Recipe& recipe) {
  return out << recipe.name;
}

PreprocessConfig in_mode(ResizeMode mode, std::optional<Size2> crop, RecipeArithmetic arithmetic) {
  PreprocessConfig config = shortest_edge(56, crop);
  config.resize = mode;
  config.size = {56, 60};
  config.arithmetic = arithmetic;
  return config;
}

class Marks : public testing::TestWithParam<Recipe> {};

/// A white block on black: the brightness of the input has its centre of mass where the geometry puts it.
TEST_P(Marks, LandWhereTheGeometrySays) {
  PreprocessConfig config = GetParam().config;
  config.normalize = false;
  for (const Size2 size : {Size2{90, 160}, Size2{170, 91}, Size2{40, 44}}) {
    const InputGeometry geometry = input_geometry(size, config);
    for (const Size2 corner :
         {Size2{size.height / 3, size.width / 2}, Size2{size.height / 2, size.width / 3}}) {
      Image image{size.height, size.width,
                  std::vector<std::uint8_t>(static_cast<std::size_t>(3 * size.height * size.width))};
      constexpr std::int64_t kSide = 8;
      for (std::int64_t y = corner.height; y < corner.height + kSide; ++y) {
        for (std::int64_t x = corner.width; x < corner.width + kSide; ++x)
          image.pixels[static_cast<std::size_t>(3 * (y * size.width + x))] = 255;  // red, the first plane
      }
      const Tensor values = preprocess(image, config);
      double mass = 0;
      double row = 0;
      double column = 0;
      for (std::int64_t y = 0; y < geometry.input.height; ++y) {
        for (std::int64_t x = 0; x < geometry.input.width; ++x) {
          const auto value = static_cast<double>(values.data()[y * geometry.input.width + x]);
          mass += value;
          row += value * (static_cast<double>(y) + 0.5);
          column += value * (static_cast<double>(x) + 0.5);
        }
      }
      ASSERT_GT(mass, 0);
      // Bytes are rounded: a tenth of a pixel of the input is more than that moves the centre.
      EXPECT_NEAR(geometry.rows.at(row / mass), static_cast<double>(corner.height) + kSide / 2.0,
                  0.1 * geometry.rows.step);
      EXPECT_NEAR(geometry.columns.at(column / mass), static_cast<double>(corner.width) + kSide / 2.0,
                  0.1 * geometry.columns.step);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Recipes, Marks,
    testing::Values(
        Recipe{"squash", in_mode(ResizeMode::exact, {}, RecipeArithmetic::transformers)},
        Recipe{"shortest_edge", in_mode(ResizeMode::shortest_edge, {}, RecipeArithmetic::transformers)},
        Recipe{"shortest_edge_crop",
               in_mode(ResizeMode::shortest_edge, Size2{48, 48}, RecipeArithmetic::transformers)},
        Recipe{"timm_crop", in_mode(ResizeMode::shortest_edge, Size2{49, 49}, RecipeArithmetic::torchvision)},
        Recipe{"timm_cover", in_mode(ResizeMode::cover, Size2{56, 60}, RecipeArithmetic::torchvision)},
        Recipe{"timm_border", in_mode(ResizeMode::fit, Size2{56, 60}, RecipeArithmetic::torchvision)},
        Recipe{"padded", in_mode(ResizeMode::shortest_edge, Size2{101, 120}, RecipeArithmetic::transformers)},
        Recipe{"tensors", in_mode(ResizeMode::exact, {}, RecipeArithmetic::tensors)},
        Recipe{"tensors_crop", in_mode(ResizeMode::shortest_edge, Size2{48, 48}, RecipeArithmetic::tensors)},
        Recipe{"no_resize", in_mode(ResizeMode::none, Size2{77, 90}, RecipeArithmetic::transformers)}),
    testing::PrintToStringParamName());

}  // namespace
}  // namespace vit::io
