// ViTForImageClassification, ViTModel and their like, as transformers writes them (models/vit).
#include <fmt/format.h>

#include "io/family.hpp"
#include "io/hf_common.hpp"

namespace vit::io {
namespace {

constexpr std::string_view kHead = "classifier";

// Files have the names of version 4 and before; version 5 calls its modules otherwise and reads both
// (conversion_mapping.py).
NameTable name_table() {
  return {
      .bases = {"vit.", ""},
      .blocks = {"encoder.layer.", "layers."},
      .rules =
          {
              {"cls_token", {{"{base}embeddings.cls_token"}}},
              {"pos_embed", {{"{base}embeddings.position_embeddings"}}},
              {"patch_embed.proj", {{"{base}embeddings.patch_embeddings.projection"}}},
              {"blocks.*.norm1", {{"{block}layernorm_before"}}},
              {"blocks.*.attn.qkv",
               {{"{block}attention.attention.query", "{block}attention.attention.key",
                 "{block}attention.attention.value"},
                {"{block}attention.q_proj", "{block}attention.k_proj", "{block}attention.v_proj"}}},
              {"blocks.*.attn.proj", {{"{block}attention.output.dense"}, {"{block}attention.o_proj"}}},
              {"blocks.*.norm2", {{"{block}layernorm_after"}}},
              {"blocks.*.mlp.fc1", {{"{block}intermediate.dense"}, {"{block}mlp.fc1"}}},
              {"blocks.*.mlp.fc2", {{"{block}output.dense"}, {"{block}mlp.fc2"}}},
              {"norm", {{"{base}layernorm"}}},
              {"pooler.dense", {{"{base}pooler.dense"}}},
              {"head", {{kHead}}},
          },
      // A classifier ignores the pooler that a checkpoint kept from pre-training.
      .ignored = {"embeddings.mask_token", "embeddings.position_ids", "pooler."},
      .network = {"embeddings.", "encoder.", "layers.", "layernorm.", "classifier."},
  };
}

bool has_pooler(const WeightFiles& files) {
  for (const char* base : {"vit.", ""}) {
    for (const char* suffix : {"weight", "bias"}) {
      if (files.find(fmt::format("{}pooler.dense.{}", base, suffix)) != nullptr) return true;
    }
  }
  return false;
}

FamilyConfig read_config(ConfigReader& config, const WeightFiles& files) {
  config.set_defaults_source("ViTConfig");
  FamilyConfig result;
  ModelConfig& model = result.model;
  read_hf_encoder(config, {.patch_size = {16, 16}, .layer_norm_eps = 1e-12}, model);
  model.mlp_size = config.integer("intermediate_size", 3072);
  model.pooling = Pooling::cls;
  if (has_hf_head(config, files, hf_vit_family(), kHead, result)) {
    model.num_classes = count_hf_classes(config, files, kHead, result);
  } else if (has_pooler(files)) {
    const std::int64_t size = config.integer("pooler_output_size", model.hidden_size);
    model.pooler_size = size == 0 ? model.hidden_size : size;  // as ViTConfig: 0 means hidden_size too
    model.pooler_activation = config.activation("pooler_act", Activation::tanh);
  } else {
    result.notes.emplace_back(
        "no pooler in the weights: the features are the class token after the last norm");
  }
  return result;
}

}  // namespace

const Family& hf_vit_family() {
  static const Family family{
      .name = "hf_vit",
      .model_types = {"vit"},
      .classifiers = {"ViTForImageClassification"},
      .headless = {"ViTModel", "ViTForMaskedImageModeling"},
      .names = name_table(),
      .read_config = read_config,
  };
  return family;
}

}  // namespace vit::io
