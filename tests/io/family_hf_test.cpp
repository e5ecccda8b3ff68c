// What the families of Hugging Face have of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "io/checkpoint.hpp"
#include "tests/support/editable_model.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::io {
namespace {

using test::EditableModel;
using test::TempFolder;
using testing::Contains;
using testing::HasSubstr;

Checkpoint load(const EditableModel& model) {
  const TempFolder folder;
  model.write(folder);
  return load_checkpoint(folder.path());
}

std::vector<float> values(const WeightView& view) {
  const Tensor tensor = view.to_tensor();
  return {tensor.elements().begin(), tensor.elements().end()};
}

TEST(HfDeit, TheTeachersHeadIsReadByItsClassOnly) {
  EditableModel model("hf_deit_teacher");
  EXPECT_EQ(load(model).info.config.distillation, Distillation::head);
  EXPECT_EQ(load(model).info.config.num_classes, 6);
  model.config.erase("architectures");  // then the tensors say it
  EXPECT_EQ(load(model).info.config.distillation, Distillation::head);

  model.config["architectures"] = {"DeiTForImageClassification"};
  EXPECT_ERROR(load(model), ErrorCode::weights_invalid, "2 missing: classifier.weight, classifier.bias");
  model.rename("cls_classifier.weight", "classifier.weight");
  model.rename("cls_classifier.bias", "classifier.bias");
  const CheckpointInfo info = load(model).info;
  EXPECT_EQ(info.config.distillation, Distillation::token);
  EXPECT_THAT(info.unmatched, Contains("distillation_classifier.weight"));
}

TEST(HfDeit, MayHaveAPooler) {
  EditableModel model("hf_deit_teacher");
  model.config["architectures"] = {"DeiTModel"};
  for (const char* head : {"cls_classifier", "distillation_classifier"}) {
    model.tensors.erase(std::string(head) + ".weight");
    model.tensors.erase(std::string(head) + ".bias");
  }
  EXPECT_EQ(load(model).info.config.pooler_size, 0);
  model.add("deit.pooler.dense.weight", {48, 48});
  model.add("deit.pooler.dense.bias", {48});
  EXPECT_EQ(load(model).info.config.pooler_size, 48);
}

TEST(HfClip, ReadsTheTowersConfigWhereverItIs) {
  EditableModel model("hf_clip");
  const CheckpointInfo info = load(model).info;
  EXPECT_EQ(info.config.hidden_size, 48);
  EXPECT_EQ(info.config.activation, Activation::quick_gelu);
  EXPECT_EQ(info.config.final_norm, FinalNorm::none);
  EXPECT_EQ(info.config.pooling, Pooling::mean);
  EXPECT_EQ(info.labels.name(0), "class a");  // the labels are in the outer one
  EXPECT_THAT(info.ignored, Contains("vision_model.post_layernorm.weight"));

  auto tower = model.config["vision_config"];
  model.config["vision_config"]["num_attention_heads"] = 4;
  model.config["vision_config_dict"] = tower;
  EXPECT_EQ(load(model).info.config.num_heads, 3);
  model.config.erase("vision_config_dict");
  model.config["vision_config"]["num_attention_heads"] = 5;
  EXPECT_ERROR(load(model), ErrorCode::config_invalid, "num_attention_heads 5");
  model.config["vision_config"]["num_attention_heads"] = "x";
  EXPECT_ERROR(load(model), ErrorCode::config_invalid, "\"vision_config\"", "num_attention_heads");

  tower["architectures"] = {"CLIPVisionModel"};
  model.config = tower;
  model.tensors.erase("classifier.weight");
  model.tensors.erase("classifier.bias");
  const CheckpointInfo headless = load(model).info;
  EXPECT_EQ(headless.config.final_norm, FinalNorm::after_pooling);
  EXPECT_EQ(headless.config.pooling, Pooling::cls);
  EXPECT_TRUE(headless.ignored.empty());
}

TEST(HfSiglip, CutsTheProjectionsOfItsPoolingOutOfOne) {
  const EditableModel model("hf_siglip_model");
  const Checkpoint c = load(model);
  EXPECT_EQ(c.info.config.pooling, Pooling::attention);
  EXPECT_EQ(c.info.config.activation, Activation::gelu_tanh);
  const auto& stored = model.tensors.at("head.attention.in_proj_weight").bytes;
  std::vector<float> all(3 * 48 * 48);
  std::memcpy(all.data(), stored.data(), stored.size());
  EXPECT_EQ(values(c.weights.attn_pool.q.weight), std::vector<float>(all.begin(), all.begin() + 48 * 48));
  EXPECT_EQ(values(c.weights.attn_pool.kv.weight), std::vector<float>(all.begin() + 48 * 48, all.end()));

  EditableModel missing = model;
  missing.tensors.erase("head.attention.in_proj_bias");
  EXPECT_ERROR(load(missing), ErrorCode::weights_invalid, "1 missing: head.attention.in_proj_bias");
}

TEST(HfSiglip, ItsClassifierLooksAtNoPooling) {
  EditableModel model("hf_siglip_model");
  nlohmann::ordered_json tower = model.config;
  model.config = {{"model_type", "siglip"}, {"vision_config", tower}};
  model.add("classifier.weight", {2, 48});
  model.add("classifier.bias", {2});
  const CheckpointInfo info = load(model).info;
  EXPECT_EQ(info.config.pooling, Pooling::mean);
  EXPECT_EQ(info.config.num_classes, 2);
  EXPECT_THAT(info.ignored, Contains("head.probe"));

  model.config = tower;
  model.config["vision_use_head"] = false;
  model.tensors.erase("classifier.weight");
  model.tensors.erase("classifier.bias");
  EXPECT_ERROR(load(model), ErrorCode::weights_invalid, "no place for", "head.probe");
  std::erase_if(model.tensors, [](const auto& tensor) { return tensor.first.starts_with("head."); });
  EXPECT_EQ(load(model).info.config.pooling, Pooling::mean);
}

TEST(HfVitMsn, TakesNamesWithAndWithoutPrefix) {
  EditableModel model("hf_vit_msn");
  const auto fc1 = values(load(model).weights.blocks[0].fc1.weight);
  model.rename_all("encoder.", "vit.encoder.");
  EXPECT_EQ(values(load(model).weights.blocks[0].fc1.weight), fc1);
  model.config.erase("layer_norm_eps");
  EXPECT_EQ(load(model).info.config.layer_norm_eps, 1e-6F);
}

TEST(HfBeit, ReadsItsPositionsAndItsPooling) {
  EditableModel model("hf_beit_larger");
  const ModelConfig config = load(model).info.config;
  EXPECT_EQ(config.position_embedding, PositionEmbedding::none);
  EXPECT_EQ(config.relative_positions, RelativePositions::per_block);
  EXPECT_EQ(config.relative_resampling, RelativeResampling::bilinear);
  EXPECT_FALSE(config.key_bias);
  EXPECT_TRUE(config.layer_scale);
  EXPECT_EQ(config.pooling, Pooling::mean);
  EXPECT_EQ(config.final_norm, FinalNorm::after_pooling);

  model.config["use_mean_pooling"] = false;
  EXPECT_ERROR(load(model), ErrorCode::weights_invalid, "beit.layernorm.weight",
               "beit.pooler.layernorm.weight");
  model.rename("beit.pooler.layernorm.weight", "beit.layernorm.weight");
  model.rename("beit.pooler.layernorm.bias", "beit.layernorm.bias");
  EXPECT_EQ(load(model).info.config.pooling, Pooling::cls);

  model.config["use_shared_relative_position_bias"] = true;
  const std::string table = "relative_position_bias.relative_position_bias_table";
  EXPECT_ERROR(load(model), ErrorCode::weights_invalid, "1 missing: beit.encoder." + table);
  model.add("beit.encoder." + table, {52, 3});
  EXPECT_EQ(load(model).info.config.relative_positions, RelativePositions::both);
}

TEST(HfBeit, KeysHaveNoBias) {
  EditableModel model("hf_beit_larger");
  model.add("beit.encoder.layer.0.attention.attention.key.bias", {48});
  EXPECT_ERROR(load(model), ErrorCode::weights_invalid, "no place for", "key.bias");
}

TEST(HfDinov3, ReadsWhatHasABias) {
  EditableModel model("hf_dinov3_gated_nonsquare");
  const ModelConfig config = load(model).info.config;
  EXPECT_EQ(config.rotary, RotaryEmbedding::centred);
  EXPECT_EQ(config.rotary_theta, 100);
  EXPECT_EQ(config.num_registers, 2);
  EXPECT_TRUE(config.qkv_bias);
  EXPECT_FALSE(config.key_bias);

  model.config["key_bias"] = true;
  EXPECT_ERROR(load(model), ErrorCode::weights_invalid, "2 missing: layer.0.attention.k_proj.bias");
  model.config["query_bias"] = false;
  EXPECT_ERROR(load(model), ErrorCode::weights_invalid, "2 missing: layer.0.attention.k_proj.bias",
               "no place for: layer.0.attention.q_proj.bias");
  model.config["key_bias"] = false;
  model.config["value_bias"] = false;
  EXPECT_ERROR(load(model), ErrorCode::weights_invalid, "no place for: layer.0.attention.q_proj.bias");
  model.config["mlp_bias"] = false;
  EXPECT_ERROR(load(model), ErrorCode::weights_invalid, "layer.0.mlp.down_proj.bias");
  for (const char* layer :
       {"attention.q_proj", "attention.v_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}) {
    for (const char* block : {"layer.0.", "layer.1."})
      model.tensors.erase(block + std::string(layer) + ".bias");
  }
  const ModelConfig without = load(model).info.config;  // o_proj keeps its bias, the MLP's are zeros
  EXPECT_FALSE(without.qkv_bias);
  EXPECT_TRUE(without.proj_bias);
}

TEST(HfIjepa, HasNoClassToken) {
  EditableModel model("hf_ijepa");
  EXPECT_FALSE(load(model).info.config.class_token);
  model.add("ijepa.embeddings.cls_token", {1, 1, 48});
  EXPECT_ERROR(load(model), ErrorCode::weights_invalid, "no place for: ijepa.embeddings.cls_token");
}

}  // namespace
}  // namespace vit::io
