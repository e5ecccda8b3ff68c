#include "vit/backend/patch_convolution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <vector>

#include "tests/reference/layers.hpp"
#include "tests/support/compare.hpp"
#include "tests/vit/backend/backend_support.hpp"

namespace vit::test {
namespace {

struct PatchCase {
  std::int64_t batch;
  std::int64_t channels;
  Size2 image;
  Size2 patch;
  std::int64_t width;
};

std::ostream& operator<<(std::ostream& out, const PatchCase& c) {
  return out << c.batch << "x" << c.channels << "_image_" << c.image.height << "x" << c.image.width
             << "_patch_" << c.patch.height << "x" << c.patch.width << "_to_" << c.width;
}

class PatchConvolution : public testing::TestWithParam<PatchCase> {};

TEST_P(PatchConvolution, AgreesWithIndexArithmetic) {
  const PatchCase& c = GetParam();
  ModelConfig config;
  config.num_channels = c.channels;
  config.patch_size = c.patch;
  config.hidden_size = c.width;
  const std::int64_t N = config.num_patches(c.image);
  const std::int64_t K = c.channels * c.patch.height * c.patch.width;
  const Tensor pixels = normal_tensor({c.batch, c.channels, c.image.height, c.image.width}, 1);
  const Tensor weight = normal_tensor({c.width, c.channels, c.patch.height, c.patch.width}, 2,
                                      1 / std::sqrt(static_cast<double>(K)));
  const Tensor bias = normal_tensor({c.width}, 3);
  const backend::PackedLinear kernel({view_of(weight), view_of(bias)}, N);
  backend::Context context;
  backend::PatchConvolution convolution(context, config, kernel, c.batch, c.image, N + 2);
  Tensor dst({c.batch, N + 2, c.width});  // two rows between the images that nobody may touch
  for (float& value : dst.elements()) value = -77;
  convolution.run(pixels.data(), kernel, dst.data());

  std::vector<float> patches;
  for (std::int64_t b = 0; b < c.batch; ++b) {
    const float* image = dst.data() + b * (N + 2) * c.width;
    patches.insert(patches.end(), image, image + N * c.width);
    EXPECT_TRUE(
        std::all_of(image + N * c.width, image + (N + 2) * c.width, [](float x) { return x == -77; }));
  }
  const auto expected = reference::patch_embed(widened(pixels), widened(weight), widened(bias));
  const Bound bound{(2 + std::sqrt(static_cast<double>(K))) * 0x1p-24};
  EXPECT_TRUE(
      matches(convolution.kernel(), ConstTensorView{patches.data(), expected.shape}, expected.values, bound));
}

INSTANTIATE_TEST_SUITE_P(
    All, PatchConvolution,
    testing::Values(PatchCase{1, 1, {1, 1}, {1, 1}, 2}, PatchCase{1, 3, {8, 8}, {8, 8}, 13},
                    PatchCase{3, 5, {23, 31}, {7, 5}, 47}, PatchCase{2, 1, {29, 29}, {14, 14}, 32},
                    PatchCase{2, 4, {9, 64}, {3, 16}, 16}, PatchCase{1, 3, {64, 48}, {16, 16}, 192},
                    PatchCase{2, 3, {31, 7}, {1, 1}, 24}),
    testing::PrintToStringParamName());

}  // namespace
}  // namespace vit::test
