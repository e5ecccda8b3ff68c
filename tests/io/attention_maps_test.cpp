#include "io/attention_maps.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <vector>

#include "io/checkpoint.hpp"
#include "io/safetensors.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/editable_model.hpp"
#include "tests/support/expect_error.hpp"
#include "vit/session.hpp"

namespace vit::io {
namespace {

using test::EditableModel;
using test::matches;
using Rollout = AttentionRecorder::Rollout;

// ---- against NumPy on transformers' attention: tests/data/make_attention.py

/// Picture n of a tensor [N, …].
ConstTensorView picture_of(const Tensor& all, std::int64_t n) {
  const Shape shape(all.shape().begin() + 1, all.shape().end());
  return {all.data() + n * element_count(shape), shape};
}

class AttentionOfModels : public testing::TestWithParam<const char*> {};

TEST_P(AttentionOfModels, IsWhatNumpyMakesOfTheReferences) {
  const SafetensorsFile expected(std::filesystem::path(VITRINE_TEST_DATA) / "attention" /
                                 (std::string(GetParam()) + ".safetensors"));
  const Tensor heads = expected.read("heads");
  const Tensor rollout = expected.read("rollout");
  const Tensor pixels =
      SafetensorsFile(EditableModel::folder_of(GetParam()) / "expected.safetensors").read("pixel_values");
  Checkpoint checkpoint = load_checkpoint(EditableModel::path_of(GetParam()));
  const auto model = std::make_shared<const Model>(checkpoint.info.config, std::move(checkpoint.weights));
  const Size2 image{pixels.shape()[2], pixels.shape()[3]};
  Session session(model, {.batch = 1, .image_size = image, .attention_maps = true});
  for (std::int64_t n = 0; n < pixels.shape()[0]; ++n) {
    const ConstTensorView picture = picture_of(pixels, n);
    AttentionRecorder recorder(model->config(), image, Rollout::yes);
    session.forward({picture.data, {1, 3, image.height, image.width}}, &recorder);
    const AttentionMaps maps = recorder.finish();
    // float32 attention within 1e-5 of the reference's (tests/io/network_golden_test.cpp); of L blocks, L
    // times.
    EXPECT_TRUE(matches("heads", maps.heads.view(), picture_of(heads, n), {1e-5}));
    EXPECT_TRUE(matches("rollout", maps.rollout.view(), picture_of(rollout, n), {1e-5}));
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttentionOfModels,
                         testing::Values("hf_vit_base", "hf_vit_interp_nonsquare", "hf_deit_teacher",
                                         "hf_dinov2_reg_larger", "hf_dinov3_gated_nonsquare", "hf_ijepa"),
                         [](const auto& name) { return std::string(name.param); });

/// The attention that transformers gave is rolled out here; no network of ours has a part in it.
TEST(AttentionRollout, EqualsTheProductOfTheMatricesOfTheKit) {
  const SafetensorsFile kit(EditableModel::folder_of("hf_vit_base") / "expected.safetensors");
  const SafetensorsFile expected(std::filesystem::path(VITRINE_TEST_DATA) /
                                 "attention/hf_vit_base.safetensors");
  const Tensor rollout = expected.read("rollout");
  const ModelConfig config = load_checkpoint(EditableModel::path_of("hf_vit_base")).info.config;
  const std::vector<Tensor> attention = [&] {
    std::vector<Tensor> blocks;
    for (std::int64_t i = 0; i < config.num_layers; ++i)
      blocks.push_back(kit.read("attentions." + std::to_string(i)));
    return blocks;
  }();
  for (std::int64_t n = 0; n < rollout.shape()[0]; ++n) {
    AttentionRecorder recorder(config, config.image_size, Rollout::yes);
    for (std::size_t i = 0; i < attention.size(); ++i) {
      const ConstTensorView map = picture_of(attention[i], n);  // [h, T, T]
      recorder.on_stage(Stage::attention_probs, static_cast<std::int64_t>(i),
                        {map.data, {1, map.shape[0], map.shape[1], map.shape[2]}});
    }
    // Two mixtures, the result and the expected result are each rounded to float32 once.
    EXPECT_TRUE(matches("rollout", recorder.finish().rollout.view(), picture_of(rollout, n), {2.4e-7}));
  }
}

// ---- by hand

/// Two patches side by side behind a class token, two heads, two blocks.
ModelConfig small_config() {
  ModelConfig config;
  config.image_size = {8, 16};
  config.patch_size = {8, 8};
  config.num_layers = 2;
  config.num_heads = 2;
  return config;
}

const std::vector<float> kFirst{0.5F, 0.25F, 0.25F, 0, 1,    0,    0,    0,    1,   // head 0
                                0,    1,     0,     0, 0.5F, 0.5F, 0.5F, 0.5F, 0};  // head 1
const std::vector<float> kSecond{0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0};

AttentionMaps record(const ModelConfig& config, Rollout rollout) {
  AttentionRecorder recorder(config, config.image_size, rollout);
  recorder.on_stage(Stage::embeddings, -1, {});
  recorder.on_stage(Stage::attention_probs, 0, {kFirst.data(), {1, 2, 3, 3}});
  recorder.on_stage(Stage::block, 0, {});
  recorder.on_stage(Stage::attention_probs, 1, {kSecond.data(), {1, 2, 3, 3}});
  return recorder.finish();
}

std::vector<float> numbers(const ConstTensorView& view) {
  return {view.data, view.data + view.size()};
}

TEST(AttentionMaps, AreTheClassTokensRow) {
  const AttentionMaps maps = record(small_config(), Rollout::no);
  EXPECT_EQ(maps.heads.shape(), (Shape{2, 2, 1, 2}));
  EXPECT_TRUE(maps.class_token);
  EXPECT_EQ(maps.grid(), (Size2{1, 2}));
  EXPECT_EQ(numbers(maps.head(0, 0)), (std::vector<float>{0.25F, 0.25F}));
  EXPECT_EQ(numbers(maps.head(0, 1)), (std::vector<float>{1, 0}));
  EXPECT_EQ(numbers(maps.head(1, 1)), (std::vector<float>{0, 1}));
  EXPECT_EQ(numbers(maps.mean(0).view()), (std::vector<float>{0.625F, 0.125F}));
  EXPECT_EQ(maps.rollout.size(), 0);
}

TEST(AttentionMaps, WithoutAClassTokenAreTheMeanOverThePatches) {
  ModelConfig config = small_config();
  config.class_token = false;
  config.num_registers = 1;
  const AttentionMaps maps = record(config, Rollout::no);
  EXPECT_FALSE(maps.class_token);
  EXPECT_EQ(numbers(maps.head(0, 0)), (std::vector<float>{0.5F, 0.5F}));
  EXPECT_EQ(numbers(maps.head(0, 1)), (std::vector<float>{0.5F, 0.25F}));
}

TEST(AttentionMaps, PrefixTokensHaveNoPlace) {
  ModelConfig config = small_config();
  config.image_size = {8, 8};
  config.num_registers = 1;
  const AttentionMaps maps = record(config, Rollout::no);
  EXPECT_EQ(numbers(maps.head(0, 0)), (std::vector<float>{0.25F}));
  EXPECT_EQ(numbers(maps.head(1, 0)), (std::vector<float>{1}));
}

TEST(AttentionRollout, IsTheProductOfTheMixtures) {
  // Mean of the heads + I, halved: first [[.625 .3125 .0625] [0 .875 .125] [.125 .125 .75]] of
  // [[.25 .625 .125] [0 .75 .25] [.25 .25 .5]]; second's row 0 [.5 0 .5] of [0 0 1].
  const AttentionMaps maps = record(small_config(), Rollout::yes);
  EXPECT_EQ(numbers(maps.rollout.view()),
            (std::vector<float>{0.5F * 0.3125F + 0.5F * 0.125F, 0.5F * 0.0625F + 0.5F * 0.75F}));
}

TEST(AttentionRollout, ScalesRowsToASumOfOne) {
  const std::vector<float> differential{0.2F, 0.3F, -0.1F, 0.6F};  // rows that sum to 0.5
  AttentionRollout rollout;
  rollout.add({differential.data(), {1, 2, 2}});
  const std::vector<double> row = rollout.propagate({1, 0});
  EXPECT_NEAR(row[0], 1.2 / 1.5, 1e-6);
  EXPECT_NEAR(row[1], 0.3 / 1.5, 1e-6);
}

TEST(AttentionRecorder, RefusesWhatIsNotTheNetworks) {
  const ModelConfig config = small_config();
  AttentionRecorder recorder(config, config.image_size, Rollout::no);
  const auto show = [&](std::int64_t block, const Shape& shape) {
    recorder.on_stage(Stage::attention_probs, block, {kFirst.data(), shape});
  };
  EXPECT_ERROR(show(0, {2, 2, 3, 3}), ErrorCode::invalid_argument, "[2, 2, 3, 3]", "[1, 2, 3, 3]");
  EXPECT_ERROR(show(1, {1, 2, 3, 3}), ErrorCode::invalid_argument, "block 1", "block 0");
  show(0, {1, 2, 3, 3});
  EXPECT_ERROR(recorder.finish(), ErrorCode::invalid_argument, "1 blocks", "expected 2");
}

TEST(AttentionRecorder, NanIsAnError) {
  ModelConfig config = small_config();
  config.num_layers = 1;
  std::vector<float> broken = kFirst;
  broken[1] = std::numeric_limits<float>::quiet_NaN();
  AttentionRecorder recorder(config, config.image_size, Rollout::no);
  recorder.on_stage(Stage::attention_probs, 0, {broken.data(), {1, 2, 3, 3}});
  EXPECT_ERROR(recorder.finish(), ErrorCode::not_finite, "NaN");
}

}  // namespace
}  // namespace vit::io
