#include "vit/backend/head_norm.hpp"

#include <gtest/gtest.h>

#include "tests/reference/layers.hpp"
#include "tests/support/compare.hpp"
#include "tests/vit/backend/backend_support.hpp"

namespace vit::test {
namespace {

// q of a buffer [rows, 3, h, d]; what lies between its rows stays as it was.
TEST(HeadNorm, AgreesWithTheFormulaAndLeavesTheRest) {
  for (const std::int64_t d : {1, 5, 16, 64, 67}) {
    constexpr std::int64_t kRows = 7;
    constexpr std::int64_t kHeads = 3;
    const Tensor gamma = normal_tensor({d}, 2, 0.3, 1);
    const Tensor beta = normal_tensor({d}, 3, 0.3);
    const Tensor before = normal_tensor({kRows, 3, kHeads, d}, 1, 2, 0.5);
    Tensor after = before.clone();
    const backend::NormParameters parameters({view_of(gamma), view_of(beta)});
    backend::normalise_heads(after.data(), {kRows, 3 * kHeads * d, kHeads, d}, parameters,
                             {NormKind::layer, 1e-6F});

    const auto expected = reference::layer_norm(widened(before), widened(gamma), widened(beta), 1e-6);
    Tensor q({kRows, kHeads, d});
    std::vector<double> wanted;
    for (std::int64_t i = 0; i < after.size(); ++i) {
      const std::int64_t in_row = i % (3 * kHeads * d);
      if (in_row >= kHeads * d) {
        EXPECT_EQ(after.data()[i], before.data()[i]);
        continue;
      }
      q.data()[wanted.size()] = after.data()[i];
      wanted.push_back(expected.values[static_cast<std::size_t>(i)]);
    }
    // The mean and the variance are sums of d floats, and their rounding is divided by the deviation.
    EXPECT_TRUE(matches("q, d = " + std::to_string(d), q.view(), wanted, {d == 1 ? 0 : 16 * 0x1p-24}));
  }
}

TEST(HeadNorm, MayBeAnRmsNorm) {
  const Tensor gamma = normal_tensor({5}, 2, 0.3, 1);
  Tensor x = normal_tensor({7, 3, 5}, 1, 2, 0.5);
  const auto expected = reference::rms_norm(widened(x), widened(gamma), 1e-2);
  const backend::NormParameters parameters(NormWeights{view_of(gamma), {}});
  backend::normalise_heads(x.data(), {7, 15, 3, 5}, parameters, {NormKind::rms, 1e-2F});
  EXPECT_TRUE(matches("x", x.view(), expected.values, {8 * 0x1p-24}));
}

TEST(HeadNorm, ParametersTakeAFactor) {
  const Tensor gamma = normal_tensor({4}, 2);
  const Tensor beta = normal_tensor({4}, 3);
  const backend::NormParameters scaled({view_of(gamma), view_of(beta)}, 0.5F);
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(scaled.gamma.data()[i], gamma.data()[i] * 0.5F);
    EXPECT_EQ(scaled.beta.data()[i], beta.data()[i] * 0.5F);
  }
}

}  // namespace
}  // namespace vit::test
