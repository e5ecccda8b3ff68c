// timm's folders: where the arguments come from, and which are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "io/checkpoint.hpp"
#include "io/timm_architectures.hpp"
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

EditableModel with(const char* key, const nlohmann::json& value, const char* name = "timm_vit_qk_norm") {
  EditableModel model(name);
  model.config["model_args"][key] = value;
  return model;
}

#define EXPECT_UNSUPPORTED(model, ...) \
  EXPECT_ERROR(load(model), ErrorCode::model_unsupported, "config.json", __VA_ARGS__)

const ResolvedValue& resolved(const CheckpointInfo& info, const std::string& key) {
  for (const ResolvedValue& value : info.resolved) {
    if (value.key == key) return value;
  }
  throw std::out_of_range("nothing resolved for " + key);
}

TEST(TimmVit, TakesArgumentsFromTheirPlaces) {
  const CheckpointInfo info = load(EditableModel("timm_vit_clip_quickgelu")).info;
  EXPECT_EQ(info.family, "timm_vit");
  EXPECT_EQ(info.architecture, "vit_base_patch16_clip_quickgelu_224");
  EXPECT_EQ(info.config.hidden_size, 48);
  EXPECT_EQ(resolved(info, "embed_dim").source, "config.json (model_args)");
  EXPECT_EQ(info.config.activation, Activation::quick_gelu);
  EXPECT_EQ(resolved(info, "act_layer").source, "timm's vit_base_patch16_clip_quickgelu_224");
  EXPECT_EQ(info.config.layer_norm_eps, 1e-5F);
  EXPECT_TRUE(info.config.pre_norm);
  EXPECT_FALSE(info.config.patch_bias);
  EXPECT_EQ(resolved(info, "mlp_ratio").source, "default of timm's VisionTransformer");
  EXPECT_EQ(info.config.position_resampling, PositionResampling::bicubic_antialias);
}

TEST(TimmVit, WhatModelArgsLeaveOpenThePretrainedConfigSays) {
  EditableModel model("timm_vit_qk_norm");
  for (const char* key : {"img_size", "num_classes", "in_chans", "global_pool"})
    model.config["model_args"].erase(key);
  model.config["architecture"] = "vit_tiny_patch16_224.augreg_in21k";
  const CheckpointInfo info = load(model).info;
  EXPECT_EQ(info.config.image_size, (Size2{32, 32}));
  EXPECT_EQ(resolved(info, "img_size").source, "config.json (pretrained_cfg)");
  EXPECT_EQ(info.config.num_classes, 7);

  model.config["num_classes"] = 9;  // stronger than the one inside
  EXPECT_ERROR(load(model), ErrorCode::weights_invalid, "head.weight (expected [9, 48]");
  model.config["num_classes"] = 7;
  model.config["pretrained_cfg"]["fixed_input_size"] = false;
  EXPECT_ERROR(load(model), ErrorCode::weights_invalid, "pos_embed (expected [1, 785, 48]");
}

TEST(TimmVit, WithoutModelArgsTheArchitectureSaysIt) {
  EditableModel model("timm_vit_qk_norm");
  model.config.erase("model_args");
  EXPECT_ERROR(load(model), ErrorCode::weights_invalid, "patch_embed.proj.weight (expected [192, 3, 16, 16]",
               "blocks.2.norm1.weight", "no place for: blocks.0.attn.k_norm.bias");
}

TEST(TimmVit, NullIsPythonsNone) {
  EditableModel model = with("init_values", nullptr, "timm_vit_reg4_gap");
  for (const char* name :
       {"blocks.0.ls1.gamma", "blocks.0.ls2.gamma", "blocks.1.ls1.gamma", "blocks.1.ls2.gamma"}) {
    model.tensors.erase(name);
  }
  EXPECT_FALSE(load(model).info.config.layer_scale);
}

TEST(TimmVit, MovesTheNormWithThePooling) {
  EXPECT_EQ(load(EditableModel("timm_vit_reg4_gap")).info.config.final_norm, FinalNorm::after_pooling);
  EditableModel model = with("fc_norm", false, "timm_vit_reg4_gap");
  model.rename("fc_norm.weight", "norm.weight");
  model.rename("fc_norm.bias", "norm.bias");
  EXPECT_EQ(load(model).info.config.final_norm, FinalNorm::before_pooling);
  model.config["model_args"]["final_norm"] = false;
  model.tensors.erase("norm.weight");
  model.tensors.erase("norm.bias");
  EXPECT_EQ(load(model).info.config.final_norm, FinalNorm::none);
}

TEST(TimmVit, ReadsEveryActivation) {
  using Row = std::pair<const char*, Activation>;
  for (const auto& [name, activation] : {Row{"gelu", Activation::gelu},
                                         {"gelu_tanh", Activation::gelu_tanh},
                                         {"quick_gelu", Activation::quick_gelu},
                                         {"relu", Activation::relu},
                                         {"ReLU6", Activation::relu6},
                                         {"leaky_relu", Activation::leaky_relu},
                                         {"elu", Activation::elu},
                                         {"celu", Activation::elu},
                                         {"selu", Activation::selu},
                                         {"silu", Activation::silu},
                                         {"swish", Activation::silu},
                                         {"hard_swish", Activation::hard_swish},
                                         {"hardswish", Activation::hard_swish},
                                         {"mish", Activation::mish},
                                         {"hard_mish", Activation::hard_mish},
                                         {"sigmoid", Activation::sigmoid},
                                         {"hard_sigmoid", Activation::hard_sigmoid},
                                         {"hardsigmoid", Activation::hard_sigmoid},
                                         {"tanh", Activation::tanh},
                                         {"identity", Activation::identity}}) {
    EXPECT_EQ(load(with("act_layer", name)).info.config.activation, activation) << name;
  }
}

TEST(TimmVit, PoolsByTheLargestAndMovesTheNorm) {
  for (const auto& [name, pooling] :
       {std::pair{"max", Pooling::max}, std::pair{"avgmax", Pooling::mean_max}}) {
    const ModelConfig config = load(with("global_pool", name, "timm_vit_reg4_gap")).info.config;
    EXPECT_EQ(config.pooling, pooling);
    EXPECT_EQ(config.final_norm, FinalNorm::after_pooling);
    // Eva moves it for the mean alone.
    EditableModel eva = with("global_pool", name, "timm_eva02");
    eva.rename("fc_norm.weight", "norm.weight");
    eva.rename("fc_norm.bias", "norm.bias");
    EXPECT_EQ(load(eva).info.config.pooling, pooling);
    EXPECT_EQ(load(eva).info.config.final_norm, FinalNorm::before_pooling);
    EXPECT_UNSUPPORTED(with("global_pool", name, "timm_beit"), "global_pool", name, "avg and token");
  }
}

TEST(TimmVit, RefusesWhatItDoesNotHaveByName) {
  EXPECT_UNSUPPORTED(with("hovercraft", true), "\"hovercraft\"", "model_args");
  EXPECT_UNSUPPORTED(with("global_pool", "prr"), "global_pool", "prr", "token, avg, max, avgmax and map");
  EXPECT_UNSUPPORTED(with("act_layer", "prelu"), "act_layer", "prelu", "learned parameters");
  EXPECT_UNSUPPORTED(with("act_layer", "laplace"), "act_layer", "laplace", "hard_mish");  // transformers'
  EXPECT_UNSUPPORTED(with("act_layer", 3), "act_layer", "3");
  EXPECT_UNSUPPORTED(with("norm_layer", "batchnorm"), "norm_layer", "batchnorm");
  EXPECT_UNSUPPORTED(with("embed_norm_layer", "rmsnorm"), "embed_norm_layer");
  EXPECT_UNSUPPORTED(with("block_fn", "CrossBlock"), "block_fn", "CrossBlock");
  EXPECT_UNSUPPORTED(with("block_fn", {"ParallelThingsBlock", {{"num_parallel", 3}}}), "block_fn",
                     "num_parallel");
  EXPECT_UNSUPPORTED(with("block_fn", {"DiffParallelScalingBlock", {{"dual_lambda", true}}}), "block_fn",
                     "dual_lambda");
  EXPECT_UNSUPPORTED(with("attn_layer", "linear"), "attn_layer", "linear");
  EXPECT_UNSUPPORTED(with("embed_layer", "HybridEmbed"), "embed_layer");
  EXPECT_UNSUPPORTED(with("dynamic_img_pad", true), "dynamic_img_pad");
  EXPECT_UNSUPPORTED(with("pos_embed", "rope"), "pos_embed");
  EXPECT_UNSUPPORTED(with("mlp_layer", "GluMlp"), "mlp_layer");  // its gate comes last
  EXPECT_UNSUPPORTED(with("num_classes", 0, "timm_deit_distilled"), "distilled");
  EXPECT_ERROR(load(with("depth", "two")), ErrorCode::config_invalid, "depth", "a whole number");
  EXPECT_ERROR(load(with("embed_dim", 1e18)), ErrorCode::config_invalid, "embed_dim");
  EXPECT_ERROR(load(with("mlp_ratio", 1e300)), ErrorCode::config_invalid, "mlp_ratio");

  EditableModel unknown("timm_vit_qk_norm");
  unknown.config["architecture"] = "vit_hovercraft";
  EXPECT_UNSUPPORTED(unknown, "vit_hovercraft", "251");
}

TEST(TimmVit, NamesTheTensorsOfOtherBlocksAsTheyAre) {
  EXPECT_ERROR(load(with("block_fn", "ParallelThingsBlock")), ErrorCode::weights_invalid,
               "blocks.0.attns.0.attn.qkv.weight", "64 missing", "blocks.0.attns.1.attn.qkv.bias");
  EXPECT_ERROR(load(with("block_fn", "ParallelScalingBlock")), ErrorCode::weights_invalid, "24 missing",
               "blocks.0.in_proj.weight", "blocks.0.in_proj.bias", "blocks.0.attn_out_proj.bias",
               "no place for", "blocks.0.norm2.weight");
  EditableModel model = with("block_fn", "DiffParallelScalingBlock");
  model.config["model_args"]["qkv_bias"] = false;
  EXPECT_ERROR(load(model), ErrorCode::weights_invalid, "blocks.0.mlp_bias", "blocks.0.out_proj.weight",
               "blocks.0.lambda_q1");
  EXPECT_ERROR(load(with("attn_layer", "diff")), ErrorCode::weights_invalid, "blocks.0.attn.sub_norm.weight");
  EXPECT_ERROR(load(with("proj_bias", false)), ErrorCode::weights_invalid, "no place for",
               "blocks.0.mlp.fc2.bias");
  EXPECT_ERROR(load(with("norm_layer", "rmsnorm")), ErrorCode::weights_invalid, "no place for",
               "blocks.0.norm1.bias");
}

TEST(TimmVit, OtherFormsTakeTheirArguments) {
  const ModelConfig aim = load(EditableModel("timm_form_aimv2")).info.config;
  EXPECT_EQ(aim.norm, NormKind::rms);
  EXPECT_EQ(aim.layer_norm_eps, 1e-5F);
  EXPECT_TRUE(aim.embed_norm);
  EXPECT_FALSE(aim.proj_bias);
  const CheckpointInfo post = load(EditableModel("timm_form_post_norm")).info;
  EXPECT_EQ(post.config.block, BlockForm::post_norm);
  EXPECT_FALSE(post.config.layer_scale);  // init_values is for the norms there
  EXPECT_EQ(resolved(post, "block_fn").source, "timm's vit_base_patch16_rpn_224");
  EXPECT_EQ(load(EditableModel("timm_form_parallel_out_fused")).info.config.block, BlockForm::parallel_fused);
  EXPECT_TRUE(load(EditableModel("timm_form_map_of_all_tokens")).info.config.pool_prefix);
}

TEST(TimmVit, IgnoresWhatOnlyTrainingNeeds) {
  EditableModel model = with("drop_path_rate", 0.1);
  model.config["model_args"]["attn_drop_rate"] = 0.1;
  model.config["model_args"]["weight_init"] = "jax";
  EXPECT_EQ(load(model).info.family, "timm_vit");
}

TEST(TimmVit, AttentionPoolingThatSigLIPBringsAlongIsDropped) {
  EditableModel model = with("global_pool", "avg", "timm_vit_map");
  model.config["model_args"]["fc_norm"] = false;
  EXPECT_THAT(load(model).info.ignored, Contains("attn_pool.latent"));
  model.config["architecture"] = "vit_tiny_patch16_224";
  model.config["model_args"]["class_token"] = false;
  EXPECT_ERROR(load(model), ErrorCode::weights_invalid, "no place for", "attn_pool.latent");
}

TEST(TimmVit, ReadsClassNames) {
  EditableModel model("timm_vit_qk_norm");
  EXPECT_EQ(load(model).info.labels.name(6), "LABEL_6");
  model.config["label_names"] = {"n1", "n2", "n3", "n4", "n5", "n6", "n7"};
  EXPECT_EQ(load(model).info.labels.name(6), "n7");
  model.config["label_descriptions"] = {{"n7", "a cat"}};
  EXPECT_EQ(load(model).info.labels.name(6), "a cat");
  EXPECT_EQ(load(model).info.labels.name(5), "n6");
  model.config["label_names"] = {{"0", "zero"}, {"6", "six"}};
  const Labels labels = load(model).info.labels;
  EXPECT_EQ(labels.named(), 2);
  EXPECT_EQ(labels.name(6), "six");
  model.config["label_names"] = {{"7", "seven"}};
  EXPECT_EQ(load(model).info.labels.named(), 7);  // LABEL_i again, and a note
  model.config["label_names"] = {{"x", "seven"}};
  EXPECT_ERROR(load(model), ErrorCode::config_invalid, "label_names");
}

TEST(TimmVit, InnerNormsNeedTheirTensors) {
  EXPECT_ERROR(load(with("scale_attn_norm", true)), ErrorCode::weights_invalid, "blocks.0.attn.norm.weight");
  EXPECT_ERROR(load(with("scale_mlp_norm", true)), ErrorCode::weights_invalid, "blocks.0.mlp.norm.weight");
}

TEST(TimmBeit, ResamplesItsTablesAsTimmDoes) {
  const ModelConfig config = load(EditableModel("timm_beit")).info.config;
  EXPECT_EQ(config.relative_positions, RelativePositions::per_block);
  EXPECT_FALSE(config.key_bias);
  EXPECT_EQ(config.final_norm, FinalNorm::after_pooling);
  EXPECT_EQ(config.relative_resampling, RelativeResampling::geometric);
  config.validate_image({48, 32});
  EXPECT_ERROR(load(with("use_shared_rel_pos_bias", true, "timm_beit")), ErrorCode::weights_invalid,
               "1 missing: rel_pos_bias.relative_position_bias_table");
  EXPECT_UNSUPPORTED(with("global_pool", "map", "timm_beit"), "global_pool", "map");
}

TEST(TimmEva, ReadsRotaryPositions) {
  const ModelConfig eva02 = load(EditableModel("timm_eva02")).info.config;
  EXPECT_EQ(eva02.rotary, RotaryEmbedding::indexed);
  EXPECT_EQ(eva02.rotary_layout, RotaryLayout::adjacent);
  EXPECT_EQ(eva02.rotary_theta, 10000);
  EXPECT_EQ(eva02.rotary_grid, (Size2{16, 16}));
  EXPECT_EQ(eva02.mlp, Mlp::gated);
  EXPECT_EQ(eva02.mlp_size, 128);
  EXPECT_FALSE(eva02.key_bias);

  EXPECT_UNSUPPORTED(with("rope_type", "mrope", "timm_eva02"), "rope_type", "mrope");
  EXPECT_UNSUPPORTED(with("attn_type", "linear", "timm_eva02"), "attn_type", "linear");
  EXPECT_ERROR(load(with("rope_type", "mixed", "timm_eva02")), ErrorCode::weights_invalid,
               "1 missing: rope.freqs");
  EXPECT_UNSUPPORTED(with("use_post_transformer_norm", true, "timm_eva02"), "use_post_transformer_norm");
  EXPECT_ERROR(load(with("scale_mlp", true, "timm_eva02")), ErrorCode::weights_invalid,
               "blocks.0.mlp.norm.weight");
  EXPECT_ERROR(load(with("init_values", 0.1, "timm_eva02")), ErrorCode::weights_invalid, "blocks.0.gamma_1");
  EXPECT_ERROR(load(with("swiglu_align_to", 100, "timm_eva02")), ErrorCode::weights_invalid,
               "blocks.0.mlp.fc2.weight (expected [48, 200]");
}

TEST(TimmEva, OtherFormsTakeTheirArguments) {
  const ModelConfig grouped = load(EditableModel("timm_form_grouped_heads")).info.config;
  EXPECT_EQ(grouped.num_kv_heads, 2);
  EXPECT_EQ(grouped.ungrouped_blocks, 1);
  EXPECT_FALSE(grouped.is_grouped(0));
  EXPECT_TRUE(grouped.is_grouped(1));
  EXPECT_TRUE(grouped.layer_scale);
  EXPECT_FALSE(grouped.mlp_layer_scale);
  const auto with_heads = [](const nlohmann::json& heads) {
    return with("num_kv_heads", heads, "timm_form_grouped_heads");
  };
  EXPECT_UNSUPPORTED(with_heads({4, 2, 1}), "num_kv_heads");
  EXPECT_UNSUPPORTED(with_heads({4, 2, 2}), "num_kv_heads");
  EXPECT_ERROR(load(with_heads({4, 2})), ErrorCode::config_invalid, "num_kv_heads", "3 of them");
  EXPECT_ERROR(load(with_heads(2)), ErrorCode::weights_invalid,
               "blocks.0.attn.k_proj.weight (expected [16, 32]");
  EXPECT_ERROR(load(with_heads(3)), ErrorCode::config_invalid, "num_kv_heads 3");

  const ModelConfig encoder = load(EditableModel("timm_form_perception_encoder")).info.config;
  EXPECT_EQ(encoder.pooling, Pooling::attention);
  EXPECT_TRUE(encoder.pool_prefix);
  EXPECT_EQ(encoder.attn_pool_heads, 4);
  EXPECT_EQ(encoder.attn_pool_mlp_size, 48);
  EXPECT_EQ(load(EditableModel("timm_form_eva_post_norm")).info.config.block, BlockForm::post_norm);
  EXPECT_UNSUPPORTED(with("qk_norm", true, "timm_form_eva_post_norm"), "use_post_norm");
}

TEST(TimmEva, TakesProjectionsApart) {
  EditableModel model("timm_eva02");
  const auto whole = load(model).weights.blocks[1].qkv.weight.to_tensor();
  for (const std::string block : {"blocks.0.attn.", "blocks.1.attn."}) {
    const auto qkv = model.tensors.extract(block + "qkv.weight").mapped();
    const std::size_t third = qkv.bytes.size() / 3;
    for (const std::size_t i : {0U, 1U, 2U}) {
      const std::string name = block + "qkv"[i] + "_proj.weight";
      model.tensors[name] = {qkv.dtype, {48, 48}, qkv.bytes.substr(i * third, third)};
    }
    model.rename(block + "q_bias", block + "q_proj.bias");
    model.rename(block + "v_bias", block + "v_proj.bias");
  }
  const TempFolder folder;
  model.write(folder);
  const Checkpoint apart = load_checkpoint(folder.path());
  const Tensor joined = apart.weights.blocks[1].qkv.weight.to_tensor();
  EXPECT_TRUE(std::equal(joined.elements().begin(), joined.elements().end(), whole.elements().begin()));
}

TEST(TimmArchitectures, AreAllBuilt) {
  EditableModel model("timm_vit_qk_norm");
  model.config.erase("model_args");
  for (const TimmArchitecture& architecture : timm_architectures()) {
    SCOPED_TRACE(architecture.name);
    model.config["architecture"] = architecture.name;  // the config stands, tiny weights do not fit it
    EXPECT_ERROR(load(model), ErrorCode::weights_invalid, "the tensors do not fit");
  }
}

TEST(TimmArchitectures, AreSorted) {
  const auto all = timm_architectures();
  EXPECT_EQ(all.size(), 251U);
  EXPECT_TRUE(
      std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; }));
}

}  // namespace
}  // namespace vit::io
