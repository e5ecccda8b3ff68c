#include "vit/model.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/vit/network_cases.hpp"
#include "vit/error.hpp"

namespace vit::test {
namespace {

/// The message with which a Model of the case's config refuses its weights after `spoil`.
std::string refusal(const ModelConfig& config, Weights weights) {
  try {
    const Model model(config, std::move(weights));
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::weights_invalid);
    return e.what();
  }
  return "accepted";
}

Weights complete(const ModelConfig& config) {
  return lively_weights({.name = "any", .config = config});
}

void expect_contains(const std::string& message, const std::string& word) {
  EXPECT_NE(message.find(word), std::string::npos) << "no '" << word << "' in: " << message;
}

ModelConfig with_everything() {
  ModelConfig config = network_case("layer_scale").config;
  config.pooler_size = 9;
  config.num_registers = 2;
  config.qk_norm = config.pre_norm = true;
  config.distillation = Distillation::head;
  return config;
}

/// What the other one cannot have at the same time.
ModelConfig with_attention_pooling() {
  ModelConfig config = network_case("attention_pooling").config;
  config.final_norm = FinalNorm::after_pooling;
  return config;
}

ModelConfig with_relative_positions() {
  ModelConfig config = network_case("relative_both_not_square").config;
  config.key_bias = false;
  config.attn_norm = config.mlp_norm = true;
  return config;
}

TEST(Model, NeedsEveryTensorOfTheTable) {
  for (const ModelConfig& config : {with_everything(), with_attention_pooling(), with_relative_positions()}) {
    for (const TensorSpec& missing : tensor_table(config)) {
      Weights weights = complete(config);
      for_each_tensor(config, weights, [&](const TensorSpec& spec, WeightView& view) {
        if (spec.name == missing.name) view = {};
      });
      const std::string message = refusal(config, std::move(weights));
      expect_contains(message, missing.name + " is missing");
      expect_contains(message, to_string(missing.shape));
    }
  }
}

TEST(Model, NeedsEveryTensorInItsShape) {
  for (const ModelConfig& config : {with_everything(), with_attention_pooling(), with_relative_positions()}) {
    for (const TensorSpec& wrong : tensor_table(config)) {
      Weights weights = complete(config);
      for_each_tensor(config, weights, [&](const TensorSpec& spec, WeightView& view) {
        if (spec.name == wrong.name) view.shape.push_back(1);
      });
      const std::string message = refusal(config, std::move(weights));
      expect_contains(message, wrong.name + " has shape");
      expect_contains(message, "expected " + to_string(wrong.shape));
    }
  }
}

// Packing looks at what is there: a bias of another shape would be read beyond its end.
TEST(Model, RefusesTensorsThatTheConfigDenies) {
  const ModelConfig config = with_everything();
  const auto without = [&](const std::function<void(ModelConfig&)>& deny) {
    ModelConfig less = config;
    deny(less);
    return refusal(less, complete(config));
  };
  expect_contains(without([](auto& c) { c.qkv_bias = false; }), "blocks.0.attn.qkv.bias");
  expect_contains(without([](auto& c) { c.layer_scale = false; }), "blocks.0.ls1.gamma");
  expect_contains(without([](auto& c) { c.qk_norm = false; }), "blocks.0.attn.q_norm.weight");
  expect_contains(without([](auto& c) { c.pre_norm = false; }), "norm_pre.weight");
  expect_contains(without([](auto& c) { c.num_registers = 0; }), "pos_embed has shape");
  expect_contains(without([](auto& c) { c.patch_bias = false; }), "patch_embed.proj.bias");
  expect_contains(without([](auto& c) { c.distillation = Distillation::token; }), "head_dist.weight");
  expect_contains(without([](auto& c) { c.pooler_size = 0; }), "pooler.dense.weight");
  expect_contains(without([](auto& c) {
                    c.num_classes = 0;
                    c.distillation = Distillation::token;
                  }),
                  "head.weight");
  expect_contains(without([](auto& c) { c.num_layers = 1; }), "2 blocks, expected 1");

  const auto without_relative = [&](const std::function<void(ModelConfig&)>& deny) {
    ModelConfig less = with_relative_positions();
    deny(less);
    return refusal(less, complete(with_relative_positions()));
  };
  expect_contains(without_relative([](auto& c) { c.mlp_norm = false; }), "blocks.0.mlp.norm.weight");
  expect_contains(without_relative([](auto& c) { c.attn_norm = false; }), "blocks.0.attn.norm.weight");
  expect_contains(without_relative([](auto& c) { c.relative_positions = RelativePositions::shared; }),
                  "blocks.0.attn.relative_position_bias_table");
  expect_contains(without_relative([](auto& c) { c.relative_positions = RelativePositions::per_block; }),
                  "rel_pos_bias.relative_position_bias_table");
  expect_contains(without_relative([](auto& c) { c.qkv_bias = c.key_bias = true; }),
                  "blocks.0.attn.qkv.bias is missing");
  expect_contains(without([](auto& c) { c.key_bias = false; }), "blocks.0.attn.q_bias is missing");
}

TEST(Model, ValidatesItsConfig) {
  ModelConfig config = network_case("small").config;
  Weights weights = complete(config);
  config.patch_size = {0, 8};
  try {
    const Model model(config, std::move(weights));
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::config_invalid);
  }
}

TEST(Model, DoesNotNeedTheWeightsAfterwards) {
  const NetworkCase& c = network_case("small");
  Weights weights = lively_weights(c);
  const std::weak_ptr<const void> storage = weights.storage;
  const Model model(c.config, std::move(weights));
  EXPECT_TRUE(storage.expired());
}

}  // namespace
}  // namespace vit::test
