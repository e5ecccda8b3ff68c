#include "vit/backend/rms_norm.hpp"

#include <gtest/gtest.h>

#include "tests/reference/layers.hpp"
#include "tests/support/compare.hpp"
#include "tests/vit/backend/backend_support.hpp"

namespace vit::test {
namespace {

TEST(RmsNorm, AgreesWithTheFormula) {
  for (const std::int64_t size : {1, 2, 15, 16, 384, 1021, 16384}) {
    for (const double mean : {0.0, 100.0}) {  // which is not taken off
      const Tensor gamma = normal_tensor({size}, 2, 0.3, 1);
      const Tensor src = normal_tensor({5, size}, 1, 2, mean);
      Tensor dst({5, size});
      backend::rms_norm(src.data(), {5, size}, gamma.data(), 1e-3F, dst.data());
      const auto expected = reference::rms_norm(widened(src), widened(gamma), static_cast<double>(1e-3F));
      // The sum is exact to double; γ, the root and two products round once each.
      EXPECT_TRUE(matches("dst", dst.view(), expected.values, {4 * 0x1p-24})) << size << ", mean " << mean;
    }
  }
}

TEST(RmsNorm, WorksInPlace) {
  const Tensor gamma = normal_tensor({33}, 2, 0.3, 1);
  Tensor x = normal_tensor({4, 33}, 1);
  Tensor apart({4, 33});
  backend::rms_norm(x.data(), {4, 33}, gamma.data(), 1e-6F, apart.data());
  backend::rms_norm(x.data(), {4, 33}, gamma.data(), 1e-6F, x.data());
  for (std::int64_t i = 0; i < x.size(); ++i) EXPECT_EQ(x.data()[i], apart.data()[i]);
}

TEST(RmsNorm, OfZerosIsZero) {
  const Tensor gamma = normal_tensor({8}, 2);
  Tensor x({1, 8});
  for (float& value : x.elements()) value = 0;
  backend::rms_norm(x.data(), {1, 8}, gamma.data(), 1e-6F, x.data());
  for (const float value : x.elements()) EXPECT_EQ(value, 0.0F);
}

}  // namespace
}  // namespace vit::test
