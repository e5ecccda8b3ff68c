#include "vit/memory_use.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "vit/large_memory.hpp"
#include "vit/model.hpp"
#include "vit/packed_model.hpp"
#include "vit/weights.hpp"

namespace vit {
namespace {

ModelConfig small(Mlp mlp) {
  ModelConfig config;
  config.hidden_size = 192;
  config.num_layers = 3;
  config.num_heads = 3;
  config.mlp_size = 768;
  config.mlp = mlp;
  config.num_classes = 100;
  return config;
}

/// What a Model really takes for its matrices, which are nearly all of its weights.
std::int64_t packed_bytes(const ModelConfig& config, Precision precision) {
  const Model model(config, random_weights(config, 1), {.precision = precision, .threads = 1});
  EXPECT_EQ(model.precision(), precision);
  return static_cast<std::int64_t>(model.packed().memory->taken());
}

TEST(MemoryUse, WeightsAreWhatAModelTakes) {
  for (const Mlp mlp : {Mlp::plain, Mlp::gated}) {
    for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::int8}) {
      if (!processor_shortage(precision).empty()) continue;
      const ModelConfig config = small(mlp);
      const auto expected = static_cast<double>(packed_bytes(config, precision));
      const auto told = static_cast<double>(memory_use(config, precision).weights);
      EXPECT_GT(told, 0.95 * expected) << to_string(precision);
      // Norms, biases, tokens and positions are not in the large blocks: 197 + 3 · 13 rows of 192 and a few.
      EXPECT_LT(told, 1.05 * expected + 4.0 * 192 * 260) << to_string(precision);
    }
  }
}

TEST(MemoryUse, LowerPrecisionsTakeLess) {
  const ModelConfig config = small(Mlp::plain);
  const MemoryUse fp32 = memory_use(config, Precision::fp32);
  EXPECT_EQ(fp32.weights, 4 * parameter_count(config));
  EXPECT_LT(memory_use(config, Precision::bf16).weights, 0.7 * static_cast<double>(fp32.weights));
  EXPECT_LT(memory_use(config, Precision::int8).weights, memory_use(config, Precision::bf16).weights);
}

TEST(MemoryUse, WorkspaceGrowsWithImageAndBatch) {
  const ModelConfig config = small(Mlp::plain);
  const std::int64_t one = memory_use(config, Precision::fp32).workspace;
  // [T, D] of the residual stream, a norm and the context, [T, 3 D] and [T, F]: 197 · 192 · (1 + 1 + 1 + 3 +
  // 4)
  EXPECT_NEAR(static_cast<double>(one), 4.0 * 197 * 192 * 10, 4.0 * 197 * 192 * 0.5);
  EXPECT_NEAR(static_cast<double>(memory_use(config, Precision::fp32, {}, 4).workspace),
              4.0 * static_cast<double>(one), 4096);
  EXPECT_GT(memory_use(config, Precision::fp32, {448, 448}).workspace, 3 * one);
}

}  // namespace
}  // namespace vit
