#include "vit/pooling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/compare.hpp"
#include "tests/support/random.hpp"

namespace vit::test {
namespace {

TEST(Pool, ClassTokenOfEveryImage) {
  ModelConfig config;
  config.hidden_size = 3;
  const Tensor states = normal_tensor({2, 5, 3}, 1);
  Tensor pooled({2, 3});
  pool(config, {states.view()}, pooled);
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
  pool(config, {states.view()}, pooled);
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

TEST(Pool, TheLargestOfThePatchTokensAndTheirMean) {
  ModelConfig config;
  config.hidden_size = 131;  // more than one block of columns
  Tensor states = normal_tensor({2, 7, 131}, 1);
  for (std::int64_t i = 0; i < states.size(); ++i) states.data()[i] -= 10;  // zero would be the largest
  for (std::int64_t d = 0; d < 131; ++d) states.data()[d] = 1;              // of the class token
  std::vector<double> largest(2 * 131, -1e9);
  std::vector<double> half(2 * 131);
  for (std::size_t i = 0; i < largest.size(); ++i) {
    double mean = 0;
    for (std::int64_t t = 1; t < 7; ++t) {
      const auto at = (static_cast<std::int64_t>(i) / 131 * 7 + t) * 131 + static_cast<std::int64_t>(i) % 131;
      const auto value = static_cast<double>(states.data()[at]);
      largest[i] = std::max(largest[i], value);
      mean += value / 6;
    }
    half[i] = (largest[i] + mean) / 2;
  }
  Tensor pooled({2, 131});
  config.pooling = Pooling::max;
  pool(config, {states.view()}, pooled);
  EXPECT_TRUE(matches("max", pooled.view(), largest, {0}));
  config.pooling = Pooling::mean_max;
  pool(config, {states.view()}, pooled);
  EXPECT_TRUE(matches("mean_max", pooled.view(), half, {1e-7}));
}

}  // namespace
}  // namespace vit::test
