#include "vit/token_counts.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/expect_error.hpp"

namespace vit::test {
namespace {

using Counts = std::vector<std::int64_t>;

ModelConfig five_blocks() {
  ModelConfig config;
  config.num_layers = 5;
  config.image_size = {32, 80};  // 2 x 5 patches
  return config;
}

TEST(TokenCounts, AreOneFewerForEachMergedToken) {
  const ModelConfig config = five_blocks();
  EXPECT_EQ(token_counts(config, config.image_size), (Counts{11, 11, 11, 11, 11, 11}));
  EXPECT_EQ(token_counts(config, config.image_size, 1), (Counts{11, 10, 9, 8, 7, 6}));
  EXPECT_EQ(token_counts(config, {64, 80}, 3), (Counts{21, 18, 15, 12, 9, 6}));
}

TEST(TokenCounts, KeepHalfOfThePatchesAtLeast) {
  ModelConfig config = five_blocks();
  EXPECT_EQ(token_counts(config, config.image_size, 3), (Counts{11, 8, 5, 3, 2, 2}));
  EXPECT_EQ(token_counts(config, config.image_size, 1 << 30), (Counts{11, 6, 4, 3, 2, 2}));
  config.num_registers = 4;
  config.distillation = Distillation::token;
  EXPECT_EQ(token_counts(config, config.image_size, 100), (Counts{16, 11, 9, 8, 7, 7}));
  config.num_registers = 0;
  config.class_token = false;
  config.distillation = Distillation::none;
  EXPECT_EQ(token_counts(config, config.image_size, 100), (Counts{10, 5, 3, 2, 1, 1}));
}

TEST(ValidateMerge, RefusesNetworksWhoseTokensHaveNoMeaningTogether) {
  const std::pair<const char*, std::function<void(ModelConfig&)>> cases[] = {
      {"rotary positions", [](auto& m) { m.rotary = RotaryEmbedding::centred; }},
      {"relative positions", [](auto& m) { m.relative_positions = RelativePositions::shared; }},
      {"differential attention", [](auto& m) { m.attention = AttentionForm::differential; }},
      {"attention and MLP at once", [](auto& m) { m.block = BlockForm::parallel; }},
      {"attention and MLP at once", [](auto& m) { m.block = BlockForm::parallel_fused; }},
      {"two attentions", [](auto& m) { m.block = BlockForm::twin; }}};
  for (const auto& [word, change] : cases) {
    ModelConfig config;
    change(config);
    validate_merge(config, 0);
    EXPECT_ERROR(validate_merge(config, 8), ErrorCode::invalid_argument, word);
  }
  ModelConfig config;
  validate_merge(config, 8);
  config.block = BlockForm::post_norm;
  validate_merge(config, 8);
  EXPECT_ERROR(validate_merge(config, -1), ErrorCode::invalid_argument, "-1 tokens");
}

}  // namespace
}  // namespace vit::test
