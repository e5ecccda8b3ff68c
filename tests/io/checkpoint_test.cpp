#include "io/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/editable_model.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::io {
namespace {

using test::EditableModel;
using test::TempFolder;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Checkpoint load(const EditableModel& model) {
  const TempFolder folder;
  model.write(folder);
  return load_checkpoint(folder.path());  // the mapping outlives the file
}

Checkpoint load(const std::string& name) {
  return load_checkpoint(EditableModel::folder_of(name));
}

std::vector<float> values(const WeightView& view) {
  const Tensor tensor = view.to_tensor();
  return {tensor.elements().begin(), tensor.elements().end()};
}

std::vector<float> stored(const std::string& model, std::initializer_list<const char*> names) {
  const SafetensorsFile file(EditableModel::folder_of(model) / "model.safetensors");
  std::vector<float> all;
  for (const char* name : names) {
    const Tensor tensor = file.read(name);
    all.insert(all.end(), tensor.elements().begin(), tensor.elements().end());
  }
  return all;
}

#define EXPECT_WEIGHTS_ERROR(model, ...) \
  EXPECT_ERROR(load(model), ErrorCode::weights_invalid, "model.safetensors", __VA_ARGS__)
#define EXPECT_CONFIG_ERROR(model, ...) \
  EXPECT_ERROR(load(model), ErrorCode::config_invalid, "config.json", __VA_ARGS__)

// ------------------------------------------------------------------------------------------------ good
// models

TEST(Checkpoint, ReadsAPlainViT) {
  const Checkpoint c = load("hf_vit_base");
  const ModelConfig& config = c.info.config;
  EXPECT_EQ(c.info.family, "hf_vit");
  EXPECT_EQ(c.info.architecture, "ViTForImageClassification");
  EXPECT_EQ(config.image_size, (Size2{32, 32}));
  EXPECT_EQ(config.patch_size, (Size2{8, 8}));
  EXPECT_EQ(config.hidden_size, 48);
  EXPECT_EQ(config.num_layers, 2);
  EXPECT_EQ(config.num_heads, 3);
  EXPECT_EQ(config.mlp_size, 96);
  EXPECT_EQ(config.activation, Activation::gelu);
  EXPECT_EQ(config.layer_norm_eps, 1e-12F);
  EXPECT_EQ(config.pooling, Pooling::cls);
  EXPECT_EQ(config.num_classes, 7);
  EXPECT_EQ(config.pooler_size, 0);
  EXPECT_FALSE(config.layer_scale);
  EXPECT_EQ(c.info.parameters, 48487);  // as transformers counts them: see the sharded copy's index
  EXPECT_EQ(c.info.stored_dtype, "F32");
  EXPECT_EQ(c.info.labels.size(), 7);
  EXPECT_EQ(c.info.labels.name(6), "class g");
  EXPECT_EQ(c.info.score_function, ScoreFunction::softmax);
  EXPECT_TRUE(c.info.recipe);
  EXPECT_TRUE(c.info.ignored.empty());
  EXPECT_TRUE(c.info.unmatched.empty());
  EXPECT_TRUE(c.info.notes.empty());

  EXPECT_EQ(values(c.weights.blocks[1].qkv.weight),
            stored("hf_vit_base", {"vit.encoder.layer.1.attention.attention.query.weight",
                                   "vit.encoder.layer.1.attention.attention.key.weight",
                                   "vit.encoder.layer.1.attention.attention.value.weight"}));
  EXPECT_EQ(values(c.weights.blocks[0].fc1.bias),
            stored("hf_vit_base", {"vit.encoder.layer.0.intermediate.dense.bias"}));
  EXPECT_EQ(values(c.weights.blocks[0].norm2.weight),
            stored("hf_vit_base", {"vit.encoder.layer.0.layernorm_after.weight"}));
  EXPECT_EQ(values(c.weights.head.weight), stored("hf_vit_base", {"classifier.weight"}));
}

TEST(Checkpoint, ReadsTheNamesOfTransformers5) {
  const Checkpoint c = load("hf_vit_v5_names");
  EXPECT_EQ(
      values(c.weights.blocks[1].qkv.bias),
      stored("hf_vit_v5_names", {"vit.layers.1.attention.q_proj.bias", "vit.layers.1.attention.k_proj.bias",
                                 "vit.layers.1.attention.v_proj.bias"}));
  EXPECT_EQ(values(c.weights.blocks[0].proj.weight),
            stored("hf_vit_v5_names", {"vit.layers.0.attention.o_proj.weight"}));
  EXPECT_EQ(values(c.weights.blocks[0].fc2.weight),
            stored("hf_vit_v5_names", {"vit.layers.0.mlp.fc2.weight"}));
}

TEST(Checkpoint, ReadsShards) {
  const Checkpoint c = load("hf_vit_sharded");
  EXPECT_EQ(c.info.weight_files.size(), 4U);
  EXPECT_EQ(c.info.parameters, 48487);
  EXPECT_EQ(load_checkpoint(EditableModel::folder_of("hf_vit_sharded") / "model.safetensors.index.json")
                .info.parameters,
            48487);
}

TEST(Checkpoint, ReadsHalfPrecision) {
  EXPECT_EQ(load("hf_vit_fp16").info.stored_dtype, "F16");
  EXPECT_EQ(load("hf_vit_bf16").info.stored_dtype, "BF16");
  EditableModel mixed("hf_vit_fp16");
  mixed.tensors["vit.layernorm.weight"] = EditableModel("hf_vit_base").tensors["vit.layernorm.weight"];
  EXPECT_EQ(load(mixed).info.stored_dtype, "F16, F32");
}

TEST(Checkpoint, ReadsAPooler) {
  const Checkpoint c = load("hf_vit_model_pooler_relu");
  EXPECT_EQ(c.info.config.num_classes, 0);
  EXPECT_EQ(c.info.config.pooler_size, 32);
  EXPECT_EQ(c.info.config.pooler_activation, Activation::relu);
  EXPECT_EQ(values(c.weights.pooler.weight), stored("hf_vit_model_pooler_relu", {"pooler.dense.weight"}));
  EXPECT_EQ(c.info.labels.size(), 0);
  EXPECT_FALSE(c.info.recipe);

  EditableModel without("hf_vit_model_pooler_relu");
  without.tensors.erase("pooler.dense.weight");
  EXPECT_WEIGHTS_ERROR(without, "pooler.dense.weight");  // half a pooler
  without.tensors.erase("pooler.dense.bias");
  EXPECT_EQ(load(without).info.config.pooler_size, 0);
}

TEST(Checkpoint, ReadsNonSquareSizes) {
  EXPECT_EQ(load("hf_vit_nonsquare_patch").info.config.patch_size, (Size2{8, 4}));
  EXPECT_EQ(load("hf_vit_odd_dims").info.config.grid({33, 33}), (Size2{3, 3}));
}

TEST(Checkpoint, ReadsDinov2) {
  const Checkpoint c = load("hf_dinov2_larger");
  EXPECT_EQ(c.info.family, "hf_dinov2");
  EXPECT_EQ(c.info.config.pooling, Pooling::cls_and_mean);
  EXPECT_EQ(c.info.config.num_classes, 6);
  EXPECT_EQ(c.info.config.mlp_size, 96);
  EXPECT_EQ(c.info.config.layer_norm_eps, 1e-6F);
  EXPECT_TRUE(c.info.config.layer_scale);
  EXPECT_EQ(c.weights.head.weight.shape, (Shape{6, 96}));
  EXPECT_EQ(values(c.weights.blocks[1].layer_scale2),
            stored("hf_dinov2_larger", {"dinov2.encoder.layer.1.layer_scale2.lambda1"}));
  EXPECT_THAT(c.info.ignored, ElementsAre("dinov2.embeddings.mask_token"));

  const Checkpoint headless = load("hf_dinov2_model");
  EXPECT_EQ(headless.info.config.pooling, Pooling::cls);
  EXPECT_EQ(headless.info.config.num_classes, 0);
}

TEST(Checkpoint, ReadsDinov2WithRegisters) {
  const ModelConfig config = load("hf_dinov2_reg_larger").info.config;
  EXPECT_EQ(config.num_registers, 3);
  EXPECT_EQ(config.position_embedding, PositionEmbedding::class_and_patches);
  EXPECT_EQ(config.position_resampling, PositionResampling::bicubic_antialias);
  EXPECT_EQ(config.pooling, Pooling::cls_and_mean);
  EXPECT_TRUE(config.layer_scale);
}

TEST(Checkpoint, ReadsDinov2WithAGatedMlp) {
  const ModelConfig config = load("hf_dinov2_swiglu").info.config;
  EXPECT_EQ(config.mlp, Mlp::gated);
  EXPECT_EQ(config.activation, Activation::silu);
  EXPECT_EQ(config.mlp_size, 128);  // two thirds of 4 * 48, rounded up to a multiple of 8

  EditableModel apart("hf_dinov2_swiglu");  // as transformers 5 calls its modules
  for (const std::string block : {"0", "1"}) {
    for (const std::string kind : {"weight", "bias"}) {
      const std::string mlp = "dinov2.encoder.layer." + block + ".mlp.";
      auto packed = apart.tensors.extract(mlp + "weights_in." + kind).mapped();
      packed.shape.front() /= 2;
      auto up = packed;
      up.bytes = packed.bytes.substr(packed.bytes.size() / 2);
      packed.bytes.resize(packed.bytes.size() / 2);
      apart.tensors[mlp + "gate_proj." + kind] = packed;
      apart.tensors[mlp + "up_proj." + kind] = up;
      apart.rename(mlp + "weights_out." + kind, mlp + "down_proj." + kind);
    }
  }
  const TempFolder folder;
  apart.write(folder);
  const Checkpoint split = load_checkpoint(folder.path());
  EXPECT_EQ(values(split.weights.blocks[1].fc1.weight),
            values(load("hf_dinov2_swiglu").weights.blocks[1].fc1.weight));
}

TEST(Checkpoint, ReadsTheModuleNamesOfDinov2InTransformers5) {
  EditableModel model("hf_dinov2_model");
  model.rename_all("attention.attention.query", "attention.q_proj");
  model.rename_all("attention.attention.key", "attention.k_proj");
  model.rename_all("attention.attention.value", "attention.v_proj");
  model.rename_all("attention.output.dense", "attention.o_proj");
  EXPECT_EQ(values(load(model).weights.blocks[0].qkv.weight),
            values(load("hf_dinov2_model").weights.blocks[0].qkv.weight));
}

TEST(Checkpoint, ReadsMixedSpellingsAndWrappers) {
  const auto expected = values(load("hf_vit_base").weights.blocks[1].fc1.weight);
  EditableModel model("hf_vit_base");
  model.rename_all("vit.encoder.layer.1.", "encoder.layer.1.");  // as ViTMSN mixes them
  model.rename("encoder.layer.1.intermediate.dense.weight", "vit.layers.1.mlp.fc1.weight");
  EXPECT_EQ(values(load(model).weights.blocks[1].fc1.weight), expected);
  EditableModel wrapped("hf_vit_base");
  wrapped.rename_all("", "module._orig_mod.");
  EXPECT_EQ(values(load(wrapped).weights.blocks[1].fc1.weight), expected);
  wrapped.tensors.erase("module._orig_mod.vit.layernorm.bias");
  EXPECT_WEIGHTS_ERROR(wrapped, "module._orig_mod.vit.layernorm.bias");
}

TEST(Checkpoint, FollowsTheLinksOfTheHubCache) {
  const TempFolder folder;
  std::filesystem::create_directories(folder / "blobs");
  std::filesystem::create_directories(folder / "snapshot");
  for (const auto& entry : std::filesystem::directory_iterator(EditableModel::folder_of("hf_vit_base"))) {
    const std::string name = entry.path().filename().string();
    std::filesystem::copy_file(entry.path(), folder / ("blobs/" + name + "-hash"));
    std::filesystem::create_symlink("../blobs/" + name + "-hash", folder / ("snapshot/" + name));
  }
  EXPECT_EQ(load_checkpoint(folder / "snapshot").info.parameters, 48487);
  EXPECT_EQ(load_checkpoint(folder / "snapshot/model.safetensors").info.parameters, 48487);
  EXPECT_EQ(load_checkpoint(folder / "snapshot/config.json").info.parameters, 48487);
  std::filesystem::remove(folder / "blobs/model.safetensors-hash");
  EXPECT_ERROR(load_checkpoint(folder / "snapshot"), ErrorCode::model_not_found, "snapshot/model.safetensors",
               "model.safetensors-hash", "incomplete");
}

TEST(Checkpoint, TakesAWeightsFileOfAnyName) {
  const TempFolder folder;
  EditableModel("hf_vit_base").write(folder);
  std::filesystem::rename(folder / "model.safetensors", folder / "vit 日本.safetensors");
  EXPECT_EQ(load_checkpoint(folder / "vit 日本.safetensors").info.parameters, 48487);
  EXPECT_EQ(load_checkpoint(folder.path()).info.parameters, 48487);
}

// ------------------------------------------------------------------------------------------------ labels and
// scores

TEST(Checkpoint, OrdersLabelsByNumber) {
  const Labels& labels = load("hf_vit_labels_unordered").info.labels;
  ASSERT_EQ(labels.size(), 12);
  EXPECT_EQ(labels.name(1), "say \"cheese\"");
  EXPECT_EQ(labels.name(2), "Käfer");
  EXPECT_EQ(labels.name(3), "日本猫");
  EXPECT_EQ(labels.name(4), "back\\slash");
  EXPECT_EQ(labels.name(10), "label number 10");
}

TEST(Checkpoint, FillsInLabelsThatAreNotThere) {
  EditableModel model("hf_vit_base");
  model.config["id2label"] = {{"5", "five"}, {"2", "two"}};
  const Checkpoint holes = load(model);
  EXPECT_EQ(holes.info.config.num_classes, 7);
  EXPECT_EQ(holes.info.labels.name(5), "five");
  EXPECT_EQ(holes.info.labels.name(6), "6");
  EXPECT_THAT(holes.info.notes, Contains(HasSubstr("2 of the 7 classes")));

  for (const bool stated : {false, true}) {
    model.config.erase("id2label");
    if (stated) model.config["num_labels"] = 7;
    const Checkpoint none = load(model);
    EXPECT_EQ(none.info.labels.size(), 7);
    EXPECT_EQ(none.info.labels.name(6), "LABEL_6");
  }
}

TEST(Checkpoint, RefusesLabelsThatDoNotFitTheHead) {
  EditableModel model("hf_vit_base");
  model.config["id2label"]["7"] = "one too many";
  EXPECT_WEIGHTS_ERROR(model, "classifier.weight (expected [8, 48], found [7, 48])", "classifier.bias");
  model.config.erase("id2label");
  model.config["num_labels"] = 5;
  EXPECT_WEIGHTS_ERROR(model, "classifier.weight (expected [5, 48], found [7, 48])");
  for (const char* key : {"one", "-1", "1.0", "", " 1", "99999999999999999999", "9999999999999"}) {
    EditableModel bad("hf_vit_base");
    bad.config["id2label"] = {{"0", "a"}, {key, "b"}};
    EXPECT_CONFIG_ERROR(bad, "id2label", std::string("\"") + key + "\"");
  }
  model.config["id2label"] = {{"1", "a"}, {"01", "b"}};
  EXPECT_CONFIG_ERROR(model, "id2label", "class 1");
  model.config["id2label"] = {{"0", 5}};
  EXPECT_CONFIG_ERROR(model, "id2label[0]", "a string", "5");
}

TEST(Checkpoint, ChoosesTheScoreFunctionAsThePipelineDoes) {
  EditableModel model("hf_vit_base");
  model.config["problem_type"] = "multi_label_classification";
  EXPECT_EQ(load(model).info.score_function, ScoreFunction::sigmoid);
  model.config["problem_type"] = "single_label_classification";
  EXPECT_EQ(load(model).info.score_function, ScoreFunction::softmax);
  model.config["problem_type"] = nullptr;
  EXPECT_EQ(load(model).info.score_function, ScoreFunction::softmax);
  model.config["problem_type"] = "regression";
  EXPECT_EQ(load(model).info.score_function, ScoreFunction::none);
  model.config["problem_type"] = nullptr;
  model.config["id2label"] = {{"0", "only"}};
  model.add("classifier.weight", {1, 48});
  model.add("classifier.bias", {1});
  EXPECT_EQ(load(model).info.score_function, ScoreFunction::sigmoid);
}

// ------------------------------------------------------------------------------------------------ head or no
// head

TEST(Checkpoint, WithoutArchitecturesTheTensorsDecide) {
  for (const char* architecture : {"", "MyViT"}) {
    EditableModel model("hf_vit_base");
    model.config["architectures"] = nlohmann::json::array();
    if (*architecture != 0) model.config["architectures"].push_back(architecture);
    EXPECT_EQ(load(model).info.config.num_classes, 7);
    EXPECT_THAT(load(model).info.notes, Contains(HasSubstr("classifier.weight is there")));
    model.tensors.erase("classifier.weight");
    model.tensors.erase("classifier.bias");
    EXPECT_EQ(load(model).info.config.num_classes, 0);
    EXPECT_EQ(load(model).info.labels.size(), 0);
  }
}

TEST(Checkpoint, ContradictionsAboutTheHeadAreErrors) {
  EditableModel model("hf_vit_base");
  model.tensors.erase("classifier.weight");
  EXPECT_WEIGHTS_ERROR(model, "1 missing: classifier.weight");  // never a random head
  EditableModel headless("hf_vit_base");
  headless.config["architectures"] = {"ViTModel"};
  EXPECT_WEIGHTS_ERROR(headless, "classifier.weight", "classifier.bias");
}

TEST(Checkpoint, AMaskedImageModelIsABackbone) {
  EditableModel model("hf_vit_base");
  model.config["architectures"] = {"ViTForMaskedImageModeling"};
  model.tensors.erase("classifier.weight");
  model.tensors.erase("classifier.bias");
  model.add("vit.embeddings.mask_token", {1, 1, 48});
  model.add("decoder.0.weight", {192, 48, 1, 1});
  const Checkpoint c = load(model);
  EXPECT_THAT(c.info.ignored, ElementsAre("vit.embeddings.mask_token"));
  EXPECT_THAT(c.info.unmatched, ElementsAre("decoder.0.weight"));
}

// ------------------------------------------------------------------------------------------------
// config.json

TEST(Checkpoint, RefusesWhatItDoesNotKnowByName) {
  EditableModel model("hf_vit_base");
  model.config["model_type"] = "swin";
  EXPECT_ERROR(load(model), ErrorCode::model_unsupported, "config.json", "\"swin\"", "vit, dinov2");
  model.config.erase("model_type");
  EXPECT_EQ(load(model).info.family, "hf_vit");  // by its architecture
  model.config["architectures"] = {"SwinModel"};
  EXPECT_ERROR(load(model), ErrorCode::model_unsupported, "config.json", "SwinModel");
  model.config.erase("architectures");
  EXPECT_CONFIG_ERROR(model, "model_type", "vit, dinov2");

  EditableModel activation("hf_vit_base");
  activation.config["hidden_act"] = "hard_mish";  // timm's
  EXPECT_ERROR(load(activation), ErrorCode::model_unsupported, "config.json", "hidden_act", "\"hard_mish\"",
               "quick_gelu");
  for (const char* name : {"prelu", "xielu"}) {
    activation.config["hidden_act"] = name;
    EXPECT_ERROR(load(activation), ErrorCode::model_unsupported, "hidden_act", name, "learned parameters");
  }
  EditableModel head_dim("hf_vit_base");
  head_dim.config["head_dim"] = 16;
  EXPECT_EQ(load(head_dim).info.config.head_size(), 16);
  head_dim.config["head_dim"] = 32;
  EXPECT_ERROR(load(head_dim), ErrorCode::model_unsupported, "config.json", "head_dim", "32");
}

TEST(Checkpoint, RefusesConfigValuesThatCannotBe) {
  const auto with = [](const char* key, const nlohmann::json& value) {
    EditableModel model("hf_vit_base");
    model.config[key] = value;
    return model;
  };
  EXPECT_CONFIG_ERROR(with("hidden_size", "48"), "hidden_size", "a whole number", "\"48\"");
  EXPECT_CONFIG_ERROR(with("hidden_size", 48.5), "hidden_size", "48.5");
  EXPECT_CONFIG_ERROR(with("hidden_size", 9223372036854775807), "hidden_size");
  EXPECT_CONFIG_ERROR(with("hidden_size", 0), "hidden_size");
  EXPECT_CONFIG_ERROR(with("num_attention_heads", 5), "num_attention_heads", "48");
  EXPECT_CONFIG_ERROR(with("num_attention_heads", 0), "num_attention_heads");
  EXPECT_CONFIG_ERROR(with("num_hidden_layers", -1), "num_hidden_layers");
  EXPECT_CONFIG_ERROR(with("num_hidden_layers", 1000000000), "num_hidden_layers");
  EXPECT_CONFIG_ERROR(with("image_size", {32, 32, 3}), "image_size", "[height, width]");
  EXPECT_CONFIG_ERROR(with("image_size", "32"), "image_size");
  EXPECT_CONFIG_ERROR(with("patch_size", {8, "x"}), "patch_size[1]");
  EXPECT_CONFIG_ERROR(with("patch_size", 33), "patch_size");
  EXPECT_CONFIG_ERROR(with("patch_size", 0), "patch_size");
  EXPECT_CONFIG_ERROR(with("qkv_bias", 1), "qkv_bias", "true or false");
  EXPECT_CONFIG_ERROR(with("hidden_act", 1), "hidden_act", "a string");
  EXPECT_CONFIG_ERROR(with("layer_norm_eps", "1e-6"), "layer_norm_eps");
  EXPECT_CONFIG_ERROR(with("layer_norm_eps", -1), "layer_norm_eps");
  EXPECT_CONFIG_ERROR(with("architectures", "ViTModel"), "architectures", "an array");
  EXPECT_CONFIG_ERROR(with("architectures", {1}), "architectures");
  EXPECT_CONFIG_ERROR(with("id2label", nlohmann::json::array({1})), "id2label", "an object");
  EXPECT_CONFIG_ERROR(with("num_labels", 1e300), "num_labels");
  EXPECT_CONFIG_ERROR(with("problem_type", 1), "problem_type");
  EditableModel ratio("hf_dinov2_model");
  for (const nlohmann::json& value : {nlohmann::json(0), nlohmann::json(-4), nlohmann::json(1e300)}) {
    ratio.config["mlp_ratio"] = value;
    EXPECT_CONFIG_ERROR(ratio, "mlp_ratio");
  }
}

TEST(Checkpoint, RefusesADamagedConfig) {
  const TempFolder folder;
  EditableModel("hf_vit_base").write(folder);
  for (const char* text : {R"({"model_type": "vit",)", "", "[]", "{\"model_type\": \"vit\"} x"}) {
    folder.write("config.json", text);
    EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::config_invalid, "config.json");
  }
}

TEST(Checkpoint, TakesTheDefaultsOfTheConfigurationClass) {
  EditableModel model("hf_vit_base");
  model.config.erase("layer_norm_eps");
  model.config.erase("qkv_bias");
  model.config["hidden_act"] = nullptr;
  model.config.erase("num_channels");
  const Checkpoint vit = load(model);
  EXPECT_EQ(vit.info.config.layer_norm_eps, 1e-12F);
  EXPECT_EQ(vit.info.config.activation, Activation::gelu);
  EXPECT_THAT(describe(vit.info), HasSubstr("layer_norm_eps: 1e-12 [default of ViTConfig]"));
  model.config.erase("hidden_size");
  EXPECT_WEIGHTS_ERROR(model, "expected [768]");

  EditableModel dinov2("hf_dinov2_model");
  dinov2.config.erase("layer_norm_eps");
  EXPECT_EQ(load(dinov2).info.config.layer_norm_eps, 1e-6F);
  dinov2.config.erase("mlp_ratio");
  EXPECT_WEIGHTS_ERROR(dinov2, "encoder.layer.0.mlp.fc1.weight (expected [192, 48], found [96, 48])");
  dinov2.config["mlp_ratio"] = 2.01;  // int(96.48)
  EXPECT_EQ(load(dinov2).info.config.mlp_size, 96);
}

TEST(Checkpoint, ReadsEveryActivation) {
  for (const auto& [name, activation] :
       std::initializer_list<std::pair<const char*, Activation>>{{"gelu", Activation::gelu},
                                                                 {"gelu_python", Activation::gelu},
                                                                 {"gelu_new", Activation::gelu_tanh},
                                                                 {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                                                 {"gelu_python_tanh", Activation::gelu_tanh},
                                                                 {"gelu_fast", Activation::gelu_tanh},
                                                                 {"gelu_accurate", Activation::gelu_tanh},
                                                                 {"quick_gelu", Activation::quick_gelu},
                                                                 {"relu", Activation::relu},
                                                                 {"silu", Activation::silu},
                                                                 {"swish", Activation::silu},
                                                                 {"tanh", Activation::tanh},
                                                                 {"sigmoid", Activation::sigmoid},
                                                                 {"gelu_10", Activation::gelu_10},
                                                                 {"relu2", Activation::relu2},
                                                                 {"relu6", Activation::relu6},
                                                                 {"leaky_relu", Activation::leaky_relu},
                                                                 {"hardswish", Activation::hard_swish},
                                                                 {"mish", Activation::mish},
                                                                 {"laplace", Activation::laplace},
                                                                 {"sqrtsoftplus", Activation::sqrt_softplus},
                                                                 {"linear", Activation::identity}}) {
    EditableModel model("hf_vit_base");
    model.config["hidden_act"] = name;
    EXPECT_EQ(load(model).info.config.activation, activation) << name;
  }
}

// ------------------------------------------------------------------------------------------------ tensors
// against config

TEST(Checkpoint, ReportsEverythingThatDoesNotFitAtOnce) {
  EditableModel model("hf_vit_base");
  model.tensors.erase("vit.layernorm.weight");
  model.tensors.erase("vit.encoder.layer.1.attention.attention.key.bias");
  model.tensors["classifier.weight"].shape = {48, 7};
  model.tensors["vit.embeddings.position_embeddings"].shape = {17, 48};
  model.add("vit.encoder.layer.0.output.dense.bias", {48}, "I64");
  model.add("vit.encoder.layer.2.output.dense.bias", {48});
  EXPECT_WEIGHTS_ERROR(model,
                       "2 missing: vit.encoder.layer.1.attention.attention.key.bias, vit.layernorm.weight",
                       "classifier.weight (expected [7, 48], found [48, 7])",
                       "vit.embeddings.position_embeddings (expected [1, 17, 48], found [17, 48])",
                       "vit.encoder.layer.0.output.dense.bias (expected F32, F16 or BF16, found I64)",
                       "vit.encoder.layer.2.output.dense.bias");
}

TEST(Checkpoint, NamesWhatIsMissingInTheSpellingOfTheFile) {
  EditableModel v5("hf_vit_v5_names");
  v5.tensors.erase("vit.layers.1.attention.k_proj.bias");
  v5.tensors.erase("vit.layers.0.mlp.fc1.weight");
  v5.tensors.erase("vit.layernorm.bias");
  EXPECT_WEIGHTS_ERROR(
      v5, "3 missing: vit.layers.0.mlp.fc1.weight, vit.layers.1.attention.k_proj.bias, vit.layernorm.bias");
  // Of these, no other block has one.
  EditableModel all_blocks("hf_vit_v5_names");
  for (const char* block : {"0", "1"}) {
    for (const char* part : {"q", "k", "v"}) {
      all_blocks.tensors.erase(std::string("vit.layers.") + block + ".attention." + part + "_proj.weight");
    }
  }
  EXPECT_WEIGHTS_ERROR(all_blocks, "6 missing: vit.layers.0.attention.q_proj.weight");

  EditableModel headless("hf_dinov2_model");
  headless.tensors.erase("encoder.layer.0.norm1.weight");
  EXPECT_WEIGHTS_ERROR(headless, "1 missing: encoder.layer.0.norm1.weight");
}

TEST(Checkpoint, RefusesTensorsThatTheConfigLeavesNoPlaceFor) {
  for (const char* name : {"vit.encoder.layer.0.layer_scale1.lambda1", "vit.embeddings.distillation_token",
                           "vit.encoder.layer.0.attention.attention.query.weight_zero", "vit.something",
                           "encoder.layer.7.layernorm_before.bias", "classifier.extra"}) {
    EditableModel model("hf_vit_base");
    model.add(name, {48});
    EXPECT_WEIGHTS_ERROR(model, "no place for", name);
  }
  EditableModel fewer("hf_vit_base");
  fewer.config["num_hidden_layers"] = 1;
  EXPECT_WEIGHTS_ERROR(fewer, "vit.encoder.layer.1.layernorm_before.weight");
  EditableModel no_bias("hf_vit_base");
  no_bias.config["qkv_bias"] = false;
  EXPECT_WEIGHTS_ERROR(no_bias, "vit.encoder.layer.0.attention.attention.query.bias");
  EditableModel twice("hf_vit_base");
  twice.tensors["vit.layers.0.mlp.fc1.bias"] = twice.tensors["vit.encoder.layer.0.intermediate.dense.bias"];
  EXPECT_WEIGHTS_ERROR(twice, "vit.layers.0.mlp.fc1.bias");
}

TEST(Checkpoint, ListsTensorsThatDoNotMatter) {
  EditableModel model("hf_vit_base");
  model.add("vit.pooler.dense.weight", {48, 48});
  model.add("vit.embeddings.position_ids", {1, 17}, "I64");
  model.add("projection.weight", {3, 3}, "F64");
  const Checkpoint c = load(model);
  EXPECT_THAT(c.info.ignored, ElementsAre("vit.embeddings.position_ids", "vit.pooler.dense.weight"));
  EXPECT_THAT(c.info.unmatched, ElementsAre("projection.weight"));
  EXPECT_EQ(c.info.stored_dtype, "F32");
}

TEST(Checkpoint, ShortensLongReports) {
  EditableModel model("hf_vit_base");
  model.rename_all("vit.", "other.");
  EXPECT_WEIGHTS_ERROR(model, "38 missing", "vit.embeddings.cls_token", "and 18 more");
  model.tensors.clear();
  EXPECT_WEIGHTS_ERROR(model, "no tensor fits");
}

// ------------------------------------------------------------------------------------------------ files

TEST(Checkpoint, SaysWhatIsNotThere) {
  const TempFolder folder;
  EXPECT_ERROR(load_checkpoint(folder / "nothing"), ErrorCode::model_not_found, "nothing", "no such");
  EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::model_not_found, folder.path().string(),
               "config.json", "model.safetensors", "found nothing");
  folder.write("config.json", R"({"model_type":"vit"})");
  folder.write("README.md", "");
  EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::model_not_found, "model.safetensors",
               "README.md, config.json");
  folder.write("training_args.bin", "");
  EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::model_not_found, "no weights");
  for (const char* name : {"tf_model.h5", "flax_model.msgpack", "vit.gguf", "vit.keras"}) {
    const auto file = folder.write(name, "");
    EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::model_unsupported, name, "save_pretrained");
    EXPECT_ERROR(load_checkpoint(file), ErrorCode::model_unsupported, name, "save_pretrained");
    std::filesystem::remove(file);
  }
  for (const char* name : {"pytorch_model.bin", "checkpoint.pth", "vit.npz"}) {  // of formats that are read
    const auto file = folder.write(name, "");
    EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::weights_invalid, name, "empty");
    EXPECT_ERROR(load_checkpoint(file), ErrorCode::weights_invalid, name, "empty");
    std::filesystem::remove(file);
  }
  folder.write("model.onnx", "");
  EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::model_not_found, "model.onnx", "pass its path");
  const TempFolder bare;
  EXPECT_ERROR(load_checkpoint(bare.write("model.safetensors", "")), ErrorCode::weights_invalid, "empty");
  EditableModel unknown("hf_vit_base");
  unknown.write(bare);
  std::filesystem::remove(bare / "config.json");
  EXPECT_ERROR(load_checkpoint(bare.path()), ErrorCode::model_not_found, "config.json", "--arch NAME");
}

TEST(Checkpoint, TakesTheUsualNameOrTheOnlyFile) {
  const TempFolder folder;
  const EditableModel model("hf_vit_base");
  model.write(folder);
  const std::string bytes = test::read_text(folder / "model.safetensors");
  folder.write("pytorch_model.bin", "not looked at");
  folder.write("b.pth", "not looked at");
  EXPECT_EQ(load_checkpoint(folder.path()).info.weight_files.at(0).filename(), "model.safetensors");
  std::filesystem::remove(folder / "model.safetensors");
  folder.write("pytorch_model.bin", bytes);  // its bytes say what it is
  EXPECT_EQ(load_checkpoint(folder.path()).info.weight_files.at(0).filename(), "pytorch_model.bin");
  std::filesystem::remove(folder / "pytorch_model.bin");
  folder.write("a.safetensors", bytes);
  EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::model_not_found, "a.safetensors, b.pth",
               "pass the path");
  EXPECT_EQ(load_checkpoint(folder / "a.safetensors").info.weight_files.size(), 1U);
  std::filesystem::remove(folder / "b.pth");
  for (const char* leftover : {"optimizer.pt", "scheduler.pt", "rng_state_0.pth", "training_args.bin"})
    folder.write(leftover, "");
  EXPECT_EQ(load_checkpoint(folder.path()).info.weight_files.at(0).filename(), "a.safetensors");
}

TEST(Checkpoint, NamesTheDamagedWeightsFile) {
  const TempFolder folder;
  EditableModel("hf_vit_base").write(folder);
  const std::string good = test::read_text(folder / "model.safetensors");
  for (const std::string& bad : {good.substr(0, good.size() / 2), std::string(8, '\xFF') + good.substr(8),
                                 good + "x", std::string()}) {
    folder.write("model.safetensors", bad);
    EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::weights_invalid, "model.safetensors");
  }
  std::filesystem::remove(folder / "model.safetensors");
  std::filesystem::create_directory(folder / "model.safetensors");
  EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::weights_invalid, "model.safetensors", "a folder");
}

TEST(Checkpoint, ChecksTheIndexOfShards) {
  const TempFolder folder;
  const EditableModel model("hf_vit_base");
  nlohmann::json index = {{"metadata", {{"total_size", 1}}}, {"weight_map", nlohmann::json::object()}};
  for (const auto& [name, tensor] : model.tensors) index["weight_map"][name] = "a.safetensors";
  const auto write = [&](const nlohmann::json& content) {
    folder.write("model.safetensors.index.json", content.dump());
  };
  folder.write("config.json", model.config.dump());
  write(index);
  EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::model_not_found, "a.safetensors");
  folder.write("a.safetensors", EditableModel::safetensors(model.tensors));
  EXPECT_EQ(load_checkpoint(folder.path()).info.parameters, 48487);

  auto wrong = index;
  wrong["weight_map"]["not there"] = "a.safetensors";
  write(wrong);
  EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::weights_invalid, "index.json",
               "not there (in a.safetensors)");
  wrong = index;
  wrong["weight_map"].erase("vit.layernorm.bias");
  write(wrong);
  EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::weights_invalid, "1 missing: vit.layernorm.bias",
               "vit.layernorm.bias (in a.safetensors)");
  for (const char* path : {"../a.safetensors", "/etc/passwd", "sub/a.safetensors", "..", ".", "", "c:\\a"}) {
    wrong = index;
    wrong["weight_map"]["vit.layernorm.bias"] = path;
    write(wrong);
    EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::config_invalid, "index.json",
                 "vit.layernorm.bias");
  }
  for (const nlohmann::json& bad :
       {nlohmann::json({{"weight_map", nlohmann::json::object()}}), nlohmann::json::object(),
        nlohmann::json({{"weight_map", {{"a", 1}}}}), nlohmann::json::array()}) {
    write(bad);
    EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::config_invalid, "index.json");
  }
}

// ------------------------------------------------------------------------------------------------ recipe,
// classifier

TEST(Checkpoint, AMissingOrUnknownRecipeIsNoErrorYet) {
  EditableModel model("hf_vit_base");
  model.recipe.clear();
  const Checkpoint without = load(model);
  ASSERT_TRUE(without.info.recipe_error);
  EXPECT_ERROR(require_classifier(without.info), ErrorCode::config_invalid, "preprocessor_config.json",
               "AutoImageProcessor");
  model.recipe = R"({"image_processor_type": "SomethingElse"})";
  const Checkpoint unknown = load(model);
  EXPECT_FALSE(unknown.info.recipe);
  EXPECT_ERROR(require_classifier(unknown.info), ErrorCode::model_unsupported, "SomethingElse");
}

TEST(Checkpoint, SaysWhyAModelCannotClassify) {
  require_classifier(load("hf_vit_base").info);
  EXPECT_ERROR(require_classifier(load("hf_dinov2_model").info), ErrorCode::model_unsupported,
               "hf_dinov2_model", "Dinov2Model", "head");
  EditableModel gray("hf_vit_base");
  gray.config["num_channels"] = 1;
  gray.add("vit.embeddings.patch_embeddings.projection.weight", {48, 1, 8, 8});
  EXPECT_ERROR(require_classifier(load(gray).info), ErrorCode::model_unsupported, "1 channels");
}

TEST(PreprocessConfigFile, IsFoundWithoutAModel) {
  const TempFolder folder;
  EXPECT_ERROR(load_preprocess_config(folder.path()), ErrorCode::config_invalid, "preprocessor_config.json",
               "AutoImageProcessor");
  EXPECT_ERROR(load_preprocess_config(folder / "nothing"), ErrorCode::model_not_found, "nothing");
  const std::string recipe = EditableModel("hf_vit_base").recipe;
  folder.write("preprocessor_config.json", recipe);
  folder.write("model.safetensors", "");
  EXPECT_EQ(load_preprocess_config(folder.path()).size, (Size2{32, 32}));
  EXPECT_EQ(load_preprocess_config(folder / "model.safetensors").size, (Size2{32, 32}));
  EXPECT_EQ(load_preprocess_config(folder.write("other.json", recipe)).size, (Size2{32, 32}));
  EXPECT_ERROR(load_preprocess_config(folder.write("broken.json", "{")), ErrorCode::config_invalid,
               "broken.json");
}

TEST(PreprocessConfigFile, ThatNamesNoClassMeansWhatItsModelTypeMeans) {
  const TempFolder folder;
  folder.write("preprocessor_config.json", R"({"size": 20, "image_mean": [0.5, 0.5, 0.5]})");
  folder.write("config.json", R"({"model_type": "vit"})");
  EXPECT_EQ(load_preprocess_config(folder.path()).resize, ResizeMode::exact);  // ViTImageProcessor: a square
  folder.write("config.json", R"({"model_type": "dinov2"})");
  EXPECT_EQ(load_preprocess_config(folder.path()).resize, ResizeMode::shortest_edge);  // BitImageProcessor
  folder.write("config.json", "damaged");
  EXPECT_ERROR(load_preprocess_config(folder.path()), ErrorCode::config_invalid, "preprocessor_config.json");
}

TEST(PreprocessConfigFile, MayLieInAProcessorConfig) {
  const TempFolder folder;
  folder.write("processor_config.json", "{\"image_processor\": " + EditableModel("hf_vit_base").recipe + "}");
  EXPECT_EQ(load_preprocess_config(folder.path()).size, (Size2{32, 32}));
}

TEST(Describe, SaysThatPositionsAreResampled) {
  EditableModel model("hf_vit_base");
  EXPECT_THAT(describe(load(model).info), Not(HasSubstr("resampled")));
  auto recipe = nlohmann::ordered_json::parse(model.recipe);
  recipe["size"] = {{"height", 56}, {"width", 64}};
  model.recipe = recipe.dump();
  EXPECT_THAT(describe(load(model).info), HasSubstr("resampled (bicubic) from 4x4 to 7x8 patches"));
}

TEST(Describe, SaysWhatWasResolved) {
  const std::string text = describe(load("hf_dinov2_larger").info);
  for (const char* part : {"hf_dinov2 (Dinov2ForImageClassification)", "6 classes (6 with a name), softmax",
                           "F32", "patch_size: [7, 7] [config.json]", "dinov2.embeddings.mask_token"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

}  // namespace
}  // namespace vit::io
