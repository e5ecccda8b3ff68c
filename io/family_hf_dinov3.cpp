// DINOv3ViTModel, as transformers writes it (models/dinov3_vit). There is no classifier of that name.
#include <fmt/format.h>

#include "io/family.hpp"
#include "io/hf_common.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

/// q and v have a bias and k has none, as all released weights; or all or none of them.
void read_biases(ConfigReader& config, ModelConfig& model) {
  const bool query = config.boolean("query_bias", true);
  const bool key = config.boolean("key_bias", false);
  const bool value = config.boolean("value_bias", true);
  if (query != value || (key && !query)) {
    config.fail(
        ErrorCode::model_unsupported,
        fmt::format("\"query_bias\" {}, \"key_bias\" {} and \"value_bias\" {} are not supported together; "
                    "q and v, all or none may have one",
                    query, key, value));
  }
  model.qkv_bias = query;
  model.key_bias = key || !query;
  for (const char* name : {"proj_bias", "mlp_bias"}) {
    if (!config.boolean(name, true))
      config.fail(ErrorCode::model_unsupported, fmt::format("\"{}\": false is not supported", name));
  }
}

FamilyConfig read_config(ConfigReader& config, const WeightFiles&) {
  config.set_defaults_source("DINOv3ViTConfig");
  FamilyConfig result;
  ModelConfig& model = result.model;
  read_hf_encoder(
      config, {.patch_size = {16, 16}, .layer_norm_eps = 1e-5, .hidden_size = 384, .num_heads = 6}, model);
  model.mlp_size = config.integer("intermediate_size", 1536);
  read_biases(config, model);
  if (config.boolean("use_gated_mlp", false)) model.mlp = Mlp::gated;
  model.layer_scale = true;
  model.num_registers = config.integer("num_register_tokens", 0);
  model.position_embedding = PositionEmbedding::none;
  model.rotary = RotaryEmbedding::centred;
  model.rotary_layout = RotaryLayout::halves;
  model.rotary_theta = config.number("rope_theta", 100);
  model.pooling = Pooling::cls;
  const std::vector<std::string> architectures = config.texts("architectures");
  if (!architectures.empty()) result.architecture = architectures.front();
  return result;
}

NameTable names() {
  return {
      .bases = {""},
      .blocks = {"layer.", "model.layer."},
      .rules =
          {
              {"cls_token", {{"{base}embeddings.cls_token"}}},
              {"reg_token", {{"{base}embeddings.register_tokens"}}},
              {"patch_embed.proj", {{"{base}embeddings.patch_embeddings"}}},
              {"blocks.*.norm1", {{"{block}norm1"}}},
              {"blocks.*.attn.qkv",
               {{"{block}attention.q_proj", "{block}attention.k_proj", "{block}attention.v_proj"}}},
              {"blocks.*.attn.q_bias", {{"{block}attention.q_proj.bias"}}},
              {"blocks.*.attn.v_bias", {{"{block}attention.v_proj.bias"}}},
              {"blocks.*.attn.proj", {{"{block}attention.o_proj"}}},
              {"blocks.*.ls1.gamma", {{"{block}layer_scale1.lambda1"}}},
              {"blocks.*.norm2", {{"{block}norm2"}}},
              {"blocks.*.mlp.fc1", {{"{block}mlp.up_proj"}}},
              {"blocks.*.mlp.fc2", {{"{block}mlp.down_proj"}}},
              {"blocks.*.ls2.gamma", {{"{block}layer_scale2.lambda1"}}},
              {"norm", {{"{base}norm"}}},
          },
      .ignored = {"embeddings.mask_token"},  // masks are for training only
      .network = {"embeddings.", "layer.", "model.layer.", "norm."},
  };
}

const NameTable& gated_names() {
  static const NameTable table = [] {
    NameTable gated = names();
    for (NameRule& rule : gated.rules) {
      if (rule.canonical == "blocks.*.mlp.fc1")
        rule.spellings = {{"{block}mlp.gate_proj", "{block}mlp.up_proj"}};
    }
    return gated;
  }();
  return table;
}

FamilyConfig read_config_and_names(ConfigReader& config, const WeightFiles& files) {
  FamilyConfig result = read_config(config, files);
  if (result.model.mlp == Mlp::gated) result.names = gated_names();
  return result;
}

}  // namespace

const Family& hf_dinov3_family() {
  static const Family family{
      .name = "hf_dinov3",
      .model_types = {"dinov3_vit"},
      .classifiers = {},
      .headless = {"DINOv3ViTModel", "DINOv3ViTBackbone"},
      .names = names(),
      .read_config = read_config_and_names,
  };
  return family;
}

}  // namespace vit::io
