#include "vit/pooling.hpp"

#include <gtest/gtest.h>

#include "tests/support/compare.hpp"
#include "tests/support/random.hpp"

namespace vit::test {
namespace {

TEST(Pool, ClassTokenOfEveryImage) {
  ModelConfig config;
  config.hidden_size = 3;
  const Tensor states = normal_tensor({2, 5, 3}, 1);
  Tensor pooled({2, 3});
  pool(config, states.view(), pooled);
  for (std::int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(pooled.data()[i], states.data()[i / 3 * 15 + i % 3]) << i;
  }
}

// The mean of thousands of tokens is small beside them; adding them up in float32 would lose it.
TEST(Pool, MeanOfManyPatchTokens) {
  ModelConfig config;
  config.hidden_size = 131;
  config.pooling = Pooling::cls_and_mean;
  const std::int64_t T = 1 + 4000;
  const Tensor states = normal_tensor({2, T, 131}, 1);
  Tensor pooled({2, 262});
  pool(config, states.view(), pooled);
  std::vector<double> means(2 * 131);
  std::vector<float> got(2 * 131);
  for (std::size_t i = 0; i < means.size(); ++i) {
    const auto b = static_cast<std::int64_t>(i) / 131;
    const auto d = static_cast<std::int64_t>(i) % 131;
    for (std::int64_t t = 1; t < T; ++t) {
      means[i] += static_cast<double>(states.data()[(b * T + t) * 131 + d]) / 4000;
    }
    got[i] = pooled.data()[b * 262 + 131 + d];
    EXPECT_EQ(pooled.data()[b * 262 + d], states.data()[b * T * 131 + d]);
  }
  EXPECT_TRUE(matches("means", ConstTensorView{got.data(), {2, 131}}, means, {1e-7}));
}

}  // namespace
}  // namespace vit::test
