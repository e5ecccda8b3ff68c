// DINOv3ViTModel, as transformers writes it (models/dinov3_vit). There is no classifier of that name.
#include "io/family.hpp"
#include "io/hf_common.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

/// Which layers have a bias; each can be chosen by itself.
struct Biases {
  bool query = true, key = false, value = true, proj = true, mlp = true;
};

Biases read_biases(ConfigReader& config) {
  Biases biases;
  biases.query = config.boolean("query_bias", biases.query);
  biases.key = config.boolean("key_bias", biases.key);
  biases.value = config.boolean("value_bias", biases.value);
  biases.proj = config.boolean("proj_bias", biases.proj);
  biases.mlp = config.boolean("mlp_bias", biases.mlp);
  return biases;
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

/// Biases that only some of the layers have are zeros in the others.
NameTable names_for(const Biases& biases, bool gated) {
  NameTable table = names();
  const auto either = [](bool there, std::string_view name) { return there ? name : std::string_view(); };
  for (NameRule& rule : table.rules) {
    if (rule.canonical == "blocks.*.mlp.fc1" && gated)
      rule.spellings = {{"{block}mlp.gate_proj", "{block}mlp.up_proj"}};
    if (rule.canonical == "blocks.*.attn.q_bias" && !biases.query) rule.spellings = {{""}};
    if (rule.canonical == "blocks.*.attn.v_bias" && !biases.value) rule.spellings = {{""}};
  }
  table.rules.push_back({"blocks.*.attn.qkv.bias",
                         {{either(biases.query, "{block}attention.q_proj.bias"),
                           either(biases.key, "{block}attention.k_proj.bias"),
                           either(biases.value, "{block}attention.v_proj.bias")}}});
  if (!biases.proj) table.rules.push_back({"blocks.*.attn.proj.bias", {{""}}});
  if (biases.mlp) return table;
  table.rules.push_back({"blocks.*.mlp.fc1.bias", {{""}}});
  table.rules.push_back({"blocks.*.mlp.fc2.bias", {{""}}});
  return table;
}

FamilyConfig read_config(ConfigReader& config, const WeightFiles&) {
  config.set_defaults_source("DINOv3ViTConfig");
  FamilyConfig result;
  ModelConfig& model = result.model;
  read_hf_encoder(
      config, {.patch_size = {16, 16}, .layer_norm_eps = 1e-5, .hidden_size = 384, .num_heads = 6}, model);
  model.mlp_size = config.integer("intermediate_size", 1536);
  const Biases biases = read_biases(config);
  model.qkv_bias = biases.query || biases.key || biases.value;
  model.key_bias = biases.key || !model.qkv_bias;
  model.proj_bias = biases.proj || biases.mlp;
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
  result.names = names_for(biases, model.mlp == Mlp::gated);
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
      .read_config = read_config,
  };
  return family;
}

}  // namespace vit::io
