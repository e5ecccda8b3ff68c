#include "io/patch_resize.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <ostream>
#include <string>

#include "tests/support/compare.hpp"

namespace vit::io {
namespace {

struct Sizes {
  Size2 from;
  Size2 to;
};

std::string name_of(const Sizes& sizes) {
  const auto side = [](Size2 s) { return std::to_string(s.height) + "x" + std::to_string(s.width); };
  return side(sizes.from) + "_" + side(sizes.to);
}

std::ostream& operator<<(std::ostream& out, const Sizes& sizes) {
  return out << name_of(sizes);
}

/// As make_patches.py fills it.
Tensor python_kernel(Size2 size) {
  Tensor kernel({2, 1, size.height, size.width});
  float* next = kernel.data();
  for (std::int64_t d = 0; d < 2; ++d) {
    for (std::int64_t y = 0; y < size.height; ++y) {
      for (std::int64_t x = 0; x < size.width; ++x)
        *next++ = static_cast<float>((y * 733 + x * 1291 + d * 517 + y * x * 89) % 2048 - 1024) / 1024;
    }
  }
  return kernel;
}

class PatchKernel : public testing::TestWithParam<Sizes> {};

TEST_P(PatchKernel, AgreesWithTimm) {
  const auto [from, to] = GetParam();
  const Tensor kernel = python_kernel(from);
  const WeightView view{kernel.shape(),
                        {{reinterpret_cast<const std::byte*>(kernel.data()), DType::f32, kernel.size()}}};
  const Tensor got = resize_patch_kernel(view, to);
  ASSERT_EQ(got.shape(), (Shape{2, 1, to.height, to.width}));
  Tensor expected(got.shape());
  std::ifstream file(std::string(VITRINE_TEST_DATA "/patches/") + name_of(GetParam()) + ".f32",
                     std::ios::binary);
  file.read(reinterpret_cast<char*>(expected.data()), static_cast<std::streamsize>(expected.size() * 4));
  ASSERT_TRUE(file);
  // timm inverts in single precision.
  EXPECT_TRUE(test::matches("timm", got.view(), expected.view(), {2e-5}));
}

INSTANTIATE_TEST_SUITE_P(All, PatchKernel,
                         testing::Values(Sizes{{16, 16}, {8, 8}}, Sizes{{16, 16}, {32, 32}},
                                         Sizes{{14, 14}, {16, 20}}, Sizes{{4, 7}, {5, 3}}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace vit::io
