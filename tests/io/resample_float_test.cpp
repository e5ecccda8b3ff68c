#include "io/resample_float.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/io/preprocess_data.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/expect_error.hpp"

namespace vit::io {
namespace {

using test::make_picture;

constexpr float kScale = 1.0F / 255.0F;

Interpolation filter_named(const std::string& name) {
  return name == "nearest"    ? Interpolation::nearest
         : name == "bilinear" ? Interpolation::bilinear
                              : Interpolation::bicubic;
}

std::vector<float> resized_region(const Image& image, Size2 size, Interpolation filter,
                                  const Region& region) {
  std::vector<float> result(static_cast<std::size_t>(3 * region.height * region.width));
  resize_float(image, kScale, size, filter, region, result);
  return result;
}

TEST(ResizeFloat, GivesTheNumbersOfPyTorch) {
  const std::vector<float> stored = test::read_floats("resize_float.bin");
  for (const Json& c : test::read_cases("resize_float.json", 60)) {
    SCOPED_TRACE(c.dump());
    const Size2 size{c["to"][0].get<std::int64_t>(), c["to"][1].get<std::int64_t>()};
    const Shape shape{3, size.height, size.width};
    const std::vector<float> got = resized_region(
        make_picture(c), size, filter_named(c["filter"].get<std::string>()), {0, 0, size.height, size.width});
    ASSERT_LE(c["at"].get<std::size_t>() + got.size(), stored.size());
    const float* want = stored.data() + c["at"].get<std::size_t>();
    // Values up to 1. Positions along a side of up to 36 pixels are in single precision there, and so weights
    // are off by 36 * 6e-8.
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 2.2e-6) << i;
  }
}

TEST(ResizeFloat, ARegionIsAPartOfTheWhole) {
  const Image picture = make_picture("noise", 13, 17, 3);
  const Size2 size{24, 9};
  for (const Interpolation filter :
       {Interpolation::bilinear, Interpolation::bicubic, Interpolation::nearest}) {
    const std::vector<float> whole = resized_region(picture, size, filter, {0, 0, 24, 9});
    const Region region{5, 2, 11, 4};
    const std::vector<float> part = resized_region(picture, size, filter, region);
    for (std::int64_t c = 0; c < 3; ++c) {
      for (std::int64_t y = 0; y < region.height; ++y) {
        for (std::int64_t x = 0; x < region.width; ++x) {
          EXPECT_EQ(part.at(static_cast<std::size_t>((c * region.height + y) * region.width + x)),
                    whole.at(static_cast<std::size_t>((c * 24 + region.top + y) * 9 + region.left + x)));
        }
      }
    }
  }
}

TEST(ResizeFloat, RefusesWhatIsNotDefined) {
  const Image picture = make_picture("noise", 4, 5, 1);
  std::vector<float> room(3 * 6 * 6);
  const auto attempt = [&](Size2 size, Interpolation filter, const Region& region) {
    resize_float(picture, kScale, size, filter, region, room);
  };
  constexpr auto kBilinear = Interpolation::bilinear;
  attempt({6, 6}, kBilinear, {0, 0, 6, 6});
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  for (const Region& region : {Region{-1, 0, 6, 6}, Region{0, 1, 6, 6}, Region{0, 0, 0, 6},
                               Region{0, 0, 6, 5}, Region{kMax, 0, 6, 6}, Region{0, 0, 6, -6}})
    EXPECT_ERROR(attempt({6, 6}, kBilinear, region), ErrorCode::invalid_argument, "of 6 x 6 pixels");
  for (const Interpolation filter : {Interpolation::lanczos, Interpolation::box, Interpolation::hamming}) {
    EXPECT_ERROR(attempt({6, 6}, filter, {0, 0, 6, 6}), ErrorCode::invalid_argument,
                 std::string(to_string(filter)), "not defined");
  }
  EXPECT_ERROR(resize_float({}, kScale, {6, 6}, kBilinear, {0, 0, 6, 6}, room), ErrorCode::invalid_argument,
               "0 x 0");
}

}  // namespace
}  // namespace vit::io
