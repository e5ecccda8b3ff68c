#include "vit/weights.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "vit/error.hpp"

namespace vit {
namespace {

ModelConfig tiny() {
  ModelConfig config;
  config.image_size = {32, 48};
  config.patch_size = {8, 16};
  config.hidden_size = 12;
  config.num_layers = 2;
  config.num_heads = 3;
  config.mlp_size = 20;
  config.num_classes = 5;
  return config;
}

// The meaning of an IEEE 754 half, by its definition.
double half_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return mantissa ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

std::vector<std::byte> all_16_bit_values(std::size_t offset) {
  std::vector<std::byte> bytes(offset + 2 * 65536);
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    std::memcpy(bytes.data() + offset + 2 * i, &bits, 2);
  }
  return bytes;
}

TEST(WeightView, WidensEveryHalfExactly) {
  for (const std::size_t offset : {0U, 1U}) {  // 1: as misaligned as a file may have it
    const auto bytes = all_16_bit_values(offset);
    const WeightView view{{65536}, {{bytes.data() + offset, DType::f16, 65536}}};
    const Tensor tensor = view.to_tensor();
    for (std::uint32_t i = 0; i < 65536; ++i) {
      const auto expected = static_cast<float>(half_value(static_cast<std::uint16_t>(i)));
      const float got = tensor.data()[i];
      ASSERT_EQ(std::signbit(got), (i & 0x8000U) != 0) << i;
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(got)) << i;
      } else {
        ASSERT_EQ(got, expected) << i;
      }
    }
  }
}

TEST(WeightView, WidensEveryBf16Exactly) {
  const auto bytes = all_16_bit_values(1);
  const WeightView view{{256, 256}, {{bytes.data() + 1, DType::bf16, 65536}}};
  const Tensor tensor = view.to_tensor();
  for (std::uint32_t i = 0; i < 65536; ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(tensor.data()[i]), i << 16U) << i;
  }
}

TEST(WeightView, JoinsPartsOfDifferentTypes) {
  const float f32[2] = {1.5F, -2.0F};
  const std::uint16_t f16[1] = {0x3C00};                   // 1
  const std::uint16_t bf16[3] = {0x4000, 0xC040, 0x3F80};  // 2, -3, 1
  const auto bytes = [](const void* p) { return static_cast<const std::byte*>(p); };
  const WeightView view{
      {3, 2}, {{bytes(f32), DType::f32, 2}, {bytes(f16), DType::f16, 1}, {bytes(bf16), DType::bf16, 3}}};
  const Tensor tensor = view.to_tensor();
  EXPECT_EQ(tensor.shape(), (Shape{3, 2}));
  EXPECT_EQ(std::vector<float>(tensor.elements().begin(), tensor.elements().end()),
            (std::vector<float>{1.5F, -2.0F, 1, 2, -3, 1}));
}

TEST(WeightView, RowsMayCrossParts) {
  const float f32[4] = {1, 2, 3, 4};
  const std::uint16_t bf16[4] = {0x40A0, 0x40C0, 0x40E0, 0x4100};  // 5 6 7 8
  const auto bytes = [](const void* p) { return static_cast<const std::byte*>(p); };
  const WeightView view{{4, 2}, {{bytes(f32), DType::f32, 4}, {bytes(bf16), DType::bf16, 4}}};
  const auto rows = [&](std::int64_t first, std::int64_t count) {
    const Tensor tensor = view.rows(first, count).to_tensor();
    EXPECT_EQ(tensor.shape(), (Shape{count, 2}));
    return std::vector<float>(tensor.elements().begin(), tensor.elements().end());
  };
  EXPECT_EQ(rows(0, 4), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(rows(1, 2), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(rows(3, 1), (std::vector<float>{7, 8}));
  EXPECT_EQ(rows(0, 1), (std::vector<float>{1, 2}));
}

TEST(WeightView, RefusesPartsThatDoNotFillTheShape) {
  const float value = 1;
  WeightView view{{2}, {{reinterpret_cast<const std::byte*>(&value), DType::f32, 1}}};
  float out[2];
  EXPECT_THROW(view.copy_to(out), Error);
}

TEST(TensorTable, NamesAreUniqueAndShapesFollowTheConfig) {
  ModelConfig config = tiny();
  std::set<std::string> names;
  for (const TensorSpec& spec : tensor_table(config))
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
  EXPECT_TRUE(names.contains("blocks.1.attn.qkv.bias"));
  EXPECT_FALSE(names.contains("blocks.2.attn.qkv.weight"));
  EXPECT_FALSE(names.contains("blocks.0.ls1.gamma"));
  EXPECT_FALSE(names.contains("pooler.dense.weight"));

  config.qkv_bias = false;
  config.layer_scale = true;
  config.pooler_size = 7;
  config.num_classes = 0;
  config.pooling = Pooling::cls_and_mean;
  names.clear();
  for (const TensorSpec& spec : tensor_table(config)) names.insert(spec.name);
  EXPECT_FALSE(names.contains("blocks.1.attn.qkv.bias"));
  EXPECT_TRUE(names.contains("blocks.1.ls2.gamma"));
  EXPECT_TRUE(names.contains("pooler.dense.bias"));
  EXPECT_FALSE(names.contains("head.weight"));
}

TEST(TensorTable, NamesThePartsOfOtherNetworks) {
  ModelConfig config = tiny();
  config.class_token = false;
  config.num_registers = 4;
  config.position_embedding = PositionEmbedding::patches;
  config.pre_norm = config.qk_norm = true;
  config.patch_bias = false;
  config.pooling = Pooling::attention;
  config.final_norm = FinalNorm::after_pooling;
  std::map<std::string, Shape> table;
  for (const TensorSpec& spec : tensor_table(config)) table[spec.name] = spec.shape;
  EXPECT_FALSE(table.contains("cls_token"));
  EXPECT_FALSE(table.contains("norm.weight"));
  EXPECT_FALSE(table.contains("patch_embed.proj.bias"));
  EXPECT_EQ(table["reg_token"], (Shape{1, 4, 12}));
  EXPECT_EQ(table["pos_embed"], (Shape{1, 12, 12}));
  EXPECT_EQ(table["norm_pre.weight"], (Shape{12}));
  EXPECT_EQ(table["blocks.1.attn.q_norm.weight"], (Shape{4}));
  EXPECT_EQ(table["attn_pool.kv.weight"], (Shape{24, 12}));
  EXPECT_EQ(table["fc_norm.bias"], (Shape{12}));

  config = tiny();
  config.mlp = Mlp::gated;
  config.distillation = Distillation::head;
  table.clear();
  for (const TensorSpec& spec : tensor_table(config)) table[spec.name] = spec.shape;
  EXPECT_EQ(table["dist_token"], (Shape{1, 1, 12}));
  EXPECT_EQ(table["pos_embed"], (Shape{1, 14, 12}));
  EXPECT_EQ(table["blocks.0.mlp.fc1.weight"], (Shape{40, 12}));
  EXPECT_EQ(table["blocks.0.mlp.fc2.weight"], (Shape{12, 20}));
  EXPECT_EQ(table["head_dist.weight"], (Shape{5, 12}));
}

TEST(TensorTable, SharedHeadsHaveTensorsOfTheirOwn) {
  ModelConfig config = tiny();
  config.num_layers = 3;
  config.num_kv_heads = 1;
  config.ungrouped_blocks = 1;
  Weights weights = random_weights(config, 1);
  std::map<std::string, Shape> table;
  for_each_tensor(config, weights,
                  [&](const TensorSpec& spec, const WeightView&) { table[spec.name] = spec.shape; });
  EXPECT_EQ(table["blocks.0.attn.qkv.weight"], (Shape{36, 12}));
  EXPECT_EQ(table["blocks.1.attn.q.bias"], (Shape{12}));
  EXPECT_EQ(table["blocks.1.attn.kv.weight"], (Shape{8, 12}));
  EXPECT_FALSE(table.contains("blocks.1.attn.qkv.weight"));

  const BlockWeights& grouped = weights.blocks[1];
  const LinearWeights qkv = ungrouped_qkv(config, grouped);
  EXPECT_EQ(qkv.weight.shape, (Shape{36, 12}));
  const Tensor rows = qkv.weight.to_tensor();
  const Tensor kv = grouped.kv.weight.to_tensor();
  for (std::int64_t row = 12; row < 36; ++row) {
    const std::int64_t source = (row - 12) / 12 * 4 + row % 4;  // k, then v, of the one head
    EXPECT_EQ(std::memcmp(rows.data() + row * 12, kv.data() + source * 12, 12 * sizeof(float)), 0) << row;
  }
  EXPECT_EQ(qkv.bias.to_tensor().shape(), (Shape{36}));
  EXPECT_EQ(ungrouped_qkv(config, weights.blocks[0]).weight.parts.size(), 1U);
}

TEST(TensorTable, NamesThePartsOfOtherBlocks) {
  ModelConfig config = tiny();
  config.norm = NormKind::rms;
  config.block = BlockForm::parallel_fused;
  config.layer_scale = config.embed_norm = true;
  std::map<std::string, Shape> table;
  for (const TensorSpec& spec : tensor_table(config)) table[spec.name] = spec.shape;
  EXPECT_EQ(table["patch_embed.norm.weight"], (Shape{12}));
  EXPECT_FALSE(table.contains("patch_embed.norm.bias"));
  EXPECT_EQ(table["blocks.0.out_proj.weight"], (Shape{12, 32}));
  for (const char* name : {"attn.proj.weight", "mlp.fc2.weight", "norm2.weight", "ls2.gamma"})
    EXPECT_FALSE(table.contains(std::string("blocks.0.") + name)) << name;

  config = tiny();
  config.block = BlockForm::twin;
  config.attention = AttentionForm::differential;
  table.clear();
  for (const TensorSpec& spec : tensor_table(config)) table[spec.name] = spec.shape;
  EXPECT_EQ(table["blocks.1.twin.mlp.fc2.weight"], (Shape{12, 20}));
  EXPECT_EQ(table["blocks.1.twin.attn.lambda_q1"], (Shape{2}));
  EXPECT_EQ(table["blocks.1.attn.sub_norm.weight"], (Shape{4}));
}

TEST(TensorTable, CountsTheParametersOfViTBase) {
  ModelConfig config;
  config.num_classes = 1000;
  EXPECT_EQ(parameter_count(config), 86567656);  // as timm and transformers count vit-base-patch16-224
}

TEST(RandomWeights, AreReproducibleAndScaled) {
  const ModelConfig config = tiny();
  Weights a = random_weights(config, 1);
  Weights b = random_weights(config, 1);
  Weights c = random_weights(config, 2);
  EXPECT_EQ(std::memcmp(a.head.weight.to_tensor().data(), b.head.weight.to_tensor().data(), 5 * 12 * 4), 0);
  EXPECT_NE(std::memcmp(a.head.weight.to_tensor().data(), c.head.weight.to_tensor().data(), 5 * 12 * 4), 0);
  EXPECT_NE(
      std::memcmp(a.blocks[0].fc1.weight.to_tensor().data(), a.blocks[1].fc1.weight.to_tensor().data(), 64),
      0);
  for_each_tensor(config, a, [](const TensorSpec& spec, WeightView& view) {
    EXPECT_EQ(view.shape, spec.shape) << spec.name;
  });
  const Tensor norm = a.blocks[0].norm1.weight.to_tensor();
  for (const float gamma : norm.elements()) EXPECT_NEAR(gamma, 1, 0.08);

  double sum = 0;
  double squares = 0;
  ModelConfig wide = config;
  wide.hidden_size = 300;
  Weights w = random_weights(wide, 3);
  const Tensor qkv = w.blocks[1].qkv.weight.to_tensor();
  for (const float v : qkv.elements()) {
    sum += v;
    squares += v * v;
  }
  const auto n = static_cast<double>(qkv.size());
  EXPECT_NEAR(sum / n, 0, 5 * 0.02 / std::sqrt(n));
  EXPECT_NEAR(std::sqrt(squares / n), 0.02, 2e-4);
}

}  // namespace
}  // namespace vit
