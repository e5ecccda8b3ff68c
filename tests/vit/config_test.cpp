#include "vit/config.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <ostream>
#include <string>

#include "vit/error.hpp"

namespace vit::test {
namespace {

TEST(ModelConfig, DerivesItsSizes) {
  ModelConfig config;  // ViT-B/16 at 224
  config.validate();
  EXPECT_EQ(config.head_size(), 64);
  EXPECT_EQ(config.num_tokens(config.image_size), 197);
  config.patch_size = {14, 10};
  EXPECT_EQ(config.grid({100, 59}), (Size2{7, 5}));
  EXPECT_EQ(config.num_patches({100, 59}), 35);
  EXPECT_EQ(config.feature_size(), 768);
  config.pooling = Pooling::cls_and_mean;
  EXPECT_EQ(config.feature_size(), 1536);
}

TEST(ModelConfig, CountsTokensAndTheirPositions) {
  ModelConfig config;
  config.num_registers = 4;
  config.distillation = Distillation::token;
  EXPECT_EQ(config.num_prefix_tokens(), 6);
  EXPECT_EQ(config.num_tokens(config.image_size), 202);
  EXPECT_EQ(config.num_prefix_positions(), 6);
  config.position_embedding = PositionEmbedding::class_and_patches;
  EXPECT_EQ(config.num_prefix_positions(), 1);
  config.position_embedding = PositionEmbedding::patches;
  EXPECT_EQ(config.num_prefix_positions(), 0);
  config.distillation = Distillation::none;
  config.class_token = false;
  EXPECT_EQ(config.num_prefix_tokens(), 4);
}

/// A config that cannot be, and what the message about it must contain.
struct Refusal {
  std::string name;
  std::function<void(ModelConfig&)> spoil;
  std::vector<std::string> words;
};

std::ostream& operator<<(std::ostream& out, const Refusal& refusal) {
  return out << refusal.name;
}

class ModelConfigRefusals : public testing::TestWithParam<Refusal> {};

TEST_P(ModelConfigRefusals, NameTheFieldAndItsValue) {
  ModelConfig config;
  GetParam().spoil(config);
  try {
    config.validate();
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::config_invalid);
    for (const std::string& word : GetParam().words) {
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos)
          << "no '" << word << "' in: " << e.what();
    }
  }
}

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

INSTANTIATE_TEST_SUITE_P(
    All, ModelConfigRefusals,
    testing::Values(
        Refusal{"image_height_0", [](auto& c) { c.image_size.height = 0; }, {"image_size (height)", "0"}},
        Refusal{"image_width_huge", [](auto& c) { c.image_size.width = kHuge; }, {"image_size (width)"}},
        Refusal{"patch_height_0", [](auto& c) { c.patch_size.height = 0; }, {"patch_size (height)", "0"}},
        Refusal{"patch_width_225", [](auto& c) { c.patch_size.width = 225; }, {"patch_size (width)", "225"}},
        Refusal{"channels_0", [](auto& c) { c.num_channels = 0; }, {"num_channels", "0"}},
        Refusal{"channels_huge", [](auto& c) { c.num_channels = kHuge; }, {"num_channels"}},
        Refusal{"hidden_0", [](auto& c) { c.hidden_size = 0; }, {"hidden_size", "0"}},
        Refusal{"hidden_negative", [](auto& c) { c.hidden_size = -768; }, {"hidden_size", "-768"}},
        Refusal{"layers_0", [](auto& c) { c.num_layers = 0; }, {"num_hidden_layers", "0"}},
        Refusal{"layers_huge", [](auto& c) { c.num_layers = kHuge; }, {"num_hidden_layers"}},
        Refusal{"heads_0", [](auto& c) { c.num_heads = 0; }, {"num_attention_heads", "0"}},
        Refusal{"heads_5", [](auto& c) { c.num_heads = 5; }, {"768", "num_attention_heads", "5"}},
        Refusal{"mlp_0", [](auto& c) { c.mlp_size = 0; }, {"intermediate_size", "0"}},
        Refusal{"registers_negative", [](auto& c) { c.num_registers = -1; }, {"registers", "-1"}},
        Refusal{"cls_without_it", [](auto& c) { c.class_token = false; }, {"pooling cls", "class token"}},
        Refusal{"parallel_and_gated",
                [](auto& c) {
                  c.block = BlockForm::parallel;
                  c.mlp = Mlp::gated;
                },
                {"block parallel", "plain MLP"}},
        Refusal{"parallel_with_inner_norms",
                [](auto& c) {
                  c.block = BlockForm::parallel_fused;
                  c.attn_norm = true;
                },
                {"block parallel_fused", "no norms"}},
        Refusal{"post_norm_and_layer_scale",
                [](auto& c) {
                  c.block = BlockForm::post_norm;
                  c.layer_scale = true;
                },
                {"block post_norm", "layer_scale"}},
        Refusal{"twin_and_relative",
                [](auto& c) {
                  c.block = BlockForm::twin;
                  c.relative_positions = RelativePositions::shared;
                },
                {"block twin", "relative positions"}},
        Refusal{"mlp_layer_scale_of_none", [](auto& c) { c.mlp_layer_scale = false; }, {"mlp_layer_scale"}},
        Refusal{"differential_of_odd_heads",
                [](auto& c) {
                  c.num_heads = 256;
                  c.attention = AttentionForm::differential;
                },
                {"attention differential", "even"}},
        Refusal{"differential_and_rotary",
                [](auto& c) {
                  c.rotary = RotaryEmbedding::mixed;
                  c.attention = AttentionForm::differential;
                },
                {"attention differential", "rotary"}},
        Refusal{"kv_heads_5", [](auto& c) { c.num_kv_heads = 5; }, {"num_kv_heads 5", "multiple"}},
        Refusal{"kv_heads_more", [](auto& c) { c.num_kv_heads = 24; }, {"num_kv_heads", "24"}},
        Refusal{"kv_heads_without_key_bias",
                [](auto& c) {
                  c.num_kv_heads = 4;
                  c.key_bias = false;
                },
                {"num_kv_heads 4", "key_bias"}},
        Refusal{"ungrouped_blocks_13", [](auto& c) { c.ungrouped_blocks = 13; }, {"ungrouped_blocks", "13"}},
        Refusal{"pool_heads_5", [](auto& c) { c.attn_pool_heads = 5; }, {"attn_pool_heads 5", "hidden_size"}},
        Refusal{"attention_pooling_of_gated",
                [](auto& c) {
                  c.pooling = Pooling::attention;
                  c.mlp = Mlp::gated;
                },
                {"pooling attention", "plain MLP"}},
        Refusal{"distillation_without_classes",
                [](auto& c) { c.distillation = Distillation::head; },
                {"distillation head", "classes"}},
        Refusal{"distillation_of_the_mean",
                [](auto& c) {
                  c.distillation = Distillation::head;
                  c.num_classes = 5;
                  c.pooling = Pooling::mean;
                },
                {"distillation head", "pooling cls"}},
        Refusal{"rotary_of_odd_heads",
                [](auto& c) {
                  c.num_heads = 128;
                  c.rotary = RotaryEmbedding::centred;
                },
                {"rotary centred", "multiple of 4"}},
        Refusal{"rotary_theta_0",
                [](auto& c) {
                  c.rotary_theta = 0;
                  c.rotary = RotaryEmbedding::indexed;
                },
                {"rotary indexed", "theta"}},
        Refusal{"relative_behind_registers",
                [](auto& c) {
                  c.num_registers = 1;
                  c.relative_positions = RelativePositions::shared;
                },
                {"relative_positions shared", "class token"}},
        Refusal{"key_bias_false_without_any",
                [](auto& c) { c.qkv_bias = c.key_bias = false; },
                {"key_bias", "qkv_bias"}},
        Refusal{"norm_of_two_vectors",
                [](auto& c) {
                  c.pooling = Pooling::cls_and_mean;
                  c.final_norm = FinalNorm::after_pooling;
                },
                {"after_pooling", "hidden_size"}},
        Refusal{"classes_negative", [](auto& c) { c.num_classes = -1; }, {"labels", "-1"}},
        Refusal{"pooler_negative", [](auto& c) { c.pooler_size = -2; }, {"pooler_output_size", "-2"}},
        Refusal{"eps_negative", [](auto& c) { c.layer_norm_eps = -0.5F; }, {"layer_norm_eps", "-0.5"}},
        Refusal{"eps_nan", [](auto& c) { c.layer_norm_eps = std::nanf(""); }, {"layer_norm_eps", "nan"}},
        Refusal{"eps_infinite", [](auto& c) { c.layer_norm_eps = HUGE_VALF; }, {"layer_norm_eps", "inf"}},
        Refusal{"patch_embedding_beyond_counting",
                [](auto& c) {
                  c.image_size = c.patch_size = {1 << 20, 1 << 20};
                  c.hidden_size = 3 << 18;
                  c.num_channels = 4096;
                },
                {"patch_size 1048576x1048576", "num_channels 4096"}}),
    testing::PrintToStringParamName());

TEST(ModelConfig, AcceptsItsExtremes) {
  ModelConfig config;
  config.image_size = config.patch_size = {1, 1};
  config.num_channels = config.hidden_size = config.num_heads = config.mlp_size = config.num_layers = 1;
  config.layer_norm_eps = 0;
  config.validate();
}

TEST(ModelConfig, RelativePositionsThatAreNotResampledFitOneGrid) {
  ModelConfig config;
  config.relative_positions = RelativePositions::per_block;
  EXPECT_EQ(config.num_relative_positions(), 27 * 27 + 3);
  config.validate_image({224, 224});
  config.validate_image({230, 224});
  EXPECT_THROW(config.validate_image({240, 224}), Error);
  config.relative_resampling = RelativeResampling::bilinear;
  config.validate_image({240, 224});
}

TEST(ModelConfig, RefusesImagesThatDoNotFit) {
  ModelConfig config;
  config.validate_image({16, 16});
  for (const Size2 image : {Size2{15, 224}, Size2{224, 15}, Size2{0, 0}, Size2{-32, 32}, Size2{kHuge, 32}}) {
    try {
      config.validate_image(image);
      FAIL() << image.height << "x" << image.width;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      const std::string size = std::to_string(image.height) + "x" + std::to_string(image.width);
      EXPECT_NE(std::string(e.what()).find(size), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace vit::test
