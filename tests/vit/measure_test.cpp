#include "vit/measure.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "vit/error.hpp"

namespace vit::test {
namespace {

ModelConfig small() {
  ModelConfig config;
  config.image_size = {32, 48};
  config.patch_size = {16, 16};  // 2 x 3 patches and the class token: T = 7
  config.hidden_size = 8;
  config.num_heads = 2;
  config.mlp_size = 20;
  config.num_layers = 3;
  config.num_classes = 5;
  return config;
}

double flops(const ModelConfig& config, LayerKind kind) {
  return forward_flops(config, config.image_size, kind);
}

TEST(ForwardFlops, AreTwoForEachProduct) {
  const ModelConfig config = small();
  EXPECT_EQ(flops(config, LayerKind::patch_embed), 2 * 6 * 3 * 16 * 16 * 8);
  EXPECT_EQ(flops(config, LayerKind::attn_qkv), 2 * 3 * 7 * 8 * 24);
  EXPECT_EQ(flops(config, LayerKind::attn), 2 * 3 * 2 * 7 * 7 * 8);
  EXPECT_EQ(flops(config, LayerKind::attn_proj), 2 * 3 * 7 * 8 * 8);
  EXPECT_EQ(flops(config, LayerKind::mlp_fc1), 2 * 3 * 7 * 8 * 20);
  EXPECT_EQ(flops(config, LayerKind::mlp_fc2), 2 * 3 * 7 * 20 * 8);
  EXPECT_EQ(flops(config, LayerKind::head), 2 * 8 * 5);
  EXPECT_EQ(flops(config, LayerKind::norm), 0);
  EXPECT_EQ(flops(config, LayerKind::other), 0);
}

TEST(ForwardFlops, AreTheSumOfTheKinds) {
  const ModelConfig config = small();
  double sum = 0;
  for (const LayerKind kind : kAllLayerKinds) sum += flops(config, kind);
  EXPECT_EQ(forward_flops(config, config.image_size), sum);
}

TEST(ForwardFlops, OfViTB16AreThePublishedOnes) {
  ModelConfig config;  // ViT-B/16 at 224
  config.num_classes = 1000;
  EXPECT_NEAR(forward_flops(config, {224, 224}) / 1e9, 35.1, 0.1);  // 17.6 billion multiply-adds
}

TEST(ForwardFlops, CountTheTokensThatAreLeft) {
  const ModelConfig config = small();  // 7 tokens into the first block, then 5, 3 and 2
  const auto flops_of = [&](LayerKind kind) { return forward_flops(config, config.image_size, kind, 2); };
  EXPECT_EQ(flops_of(LayerKind::patch_embed), flops(config, LayerKind::patch_embed));
  EXPECT_EQ(flops_of(LayerKind::attn_qkv), 2 * (7 + 5 + 3) * 8 * 24);
  EXPECT_EQ(flops_of(LayerKind::attn), 2 * 2 * (49 + 25 + 9) * 8);
  EXPECT_EQ(flops_of(LayerKind::attn_proj), 2 * (7 + 5 + 3) * 8 * 8);
  EXPECT_EQ(flops_of(LayerKind::mlp_fc1), 2 * (5 + 3 + 2) * 8 * 20);
  EXPECT_EQ(flops_of(LayerKind::mlp_fc2), 2 * (5 + 3 + 2) * 20 * 8);
  EXPECT_EQ(flops_of(LayerKind::head), flops(config, LayerKind::head));
  double sum = 0;
  for (const LayerKind kind : kAllLayerKinds) sum += flops_of(kind);
  EXPECT_EQ(forward_flops(config, config.image_size, 2), sum);
}

TEST(ForwardFlops, CountWhatOtherNetworksHave) {
  ModelConfig config = small();
  const double fc1 = flops(config, LayerKind::mlp_fc1);
  const double head = flops(config, LayerKind::head);
  config.mlp = Mlp::gated;
  EXPECT_EQ(flops(config, LayerKind::mlp_fc1), 2 * fc1);
  config.block = BlockForm::twin;
  EXPECT_EQ(flops(config, LayerKind::mlp_fc1), 4 * fc1);
  config.distillation = Distillation::head;
  EXPECT_EQ(flops(config, LayerKind::head), 2 * head);
  config.distillation = Distillation::none;
  config.pooling = Pooling::attention;  // keys and values of 7 tokens, one query over 6, projection, MLP
  EXPECT_EQ(flops(config, LayerKind::head), head + 2 * (7 * 8 * 16 + 2 * 6 * 8 + 8 * 8 + 2 * 8 * 20));
}

class PeakGemms : public testing::TestWithParam<Precision> {};

TEST_P(PeakGemms, RunOnAKernelThatIsNoReference) {
  std::optional<PeakGemm> peak;
  try {
    peak.emplace(1, GetParam());
  } catch (const Error& error) {
    GTEST_SKIP() << "oneDNN has none for this processor: " << error.what();
  }
  EXPECT_EQ(peak->flops(), 2.0 * 2048 * 2048 * 2048);
  EXPECT_EQ(peak->kernel().find("ref"), std::string::npos) << peak->kernel();
}

INSTANTIATE_TEST_SUITE_P(All, PeakGemms, testing::Values(Precision::fp32, Precision::bf16, Precision::int8),
                         [](const auto& param) { return std::string(to_string(param.param)); });

TEST(PeakGemm, Fp32RunsEverywhere) {
  PeakGemm peak(1);
  peak.run();
}

TEST(OneDnn, SaysWhatItIs) {
  EXPECT_NE(onednn_version().find('.'), std::string::npos);
  EXPECT_NE(onednn_build().find(", "), std::string::npos);
  EXPECT_FALSE(onednn_isa().empty());
}

}  // namespace
}  // namespace vit::test
