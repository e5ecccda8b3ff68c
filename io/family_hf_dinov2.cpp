// Dinov2ForImageClassification, Dinov2Model and Dinov2Backbone, as transformers writes them (models/dinov2).
#include <fmt/format.h>

#include <cmath>

#include "io/family.hpp"
#include "io/hf_common.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr std::string_view kHead = "classifier";

NameTable name_table() {
  return {
      .bases = {"dinov2.", ""},
      .blocks = {"encoder.layer."},
      .rules =
          {
              {"cls_token", {{"{base}embeddings.cls_token"}}},
              {"pos_embed", {{"{base}embeddings.position_embeddings"}}},
              {"patch_embed.proj", {{"{base}embeddings.patch_embeddings.projection"}}},
              {"blocks.*.norm1", {{"{block}norm1"}}},
              {"blocks.*.attn.qkv",
               {{"{block}attention.attention.query", "{block}attention.attention.key",
                 "{block}attention.attention.value"},
                {"{block}attention.q_proj", "{block}attention.k_proj", "{block}attention.v_proj"}}},
              {"blocks.*.attn.proj", {{"{block}attention.output.dense"}, {"{block}attention.o_proj"}}},
              {"blocks.*.ls1.gamma", {{"{block}layer_scale1.lambda1"}}},
              {"blocks.*.norm2", {{"{block}norm2"}}},
              {"blocks.*.mlp.fc1", {{"{block}mlp.fc1"}}},
              {"blocks.*.mlp.fc2", {{"{block}mlp.fc2"}}},
              {"blocks.*.ls2.gamma", {{"{block}layer_scale2.lambda1"}}},
              {"norm", {{"{base}layernorm"}}},
              {"head", {{kHead}}},
          },
      .ignored = {"embeddings.mask_token", "embeddings.position_ids"},  // masks are for training only
      .network = {"embeddings.", "encoder.", "layernorm.", "classifier."},
  };
}

/// F = int(D * mlp_ratio), in Python's arithmetic.
std::int64_t mlp_size(ConfigReader& config, std::int64_t hidden_size) {
  const double size = std::trunc(static_cast<double>(hidden_size) * config.number("mlp_ratio", 4));
  if (!(size >= 1 && size <= 1e9)) {
    config.fail(ErrorCode::config_invalid,
                fmt::format("\"mlp_ratio\": gives an MLP of width {}, expected 1 or more", size));
  }
  return static_cast<std::int64_t>(size);
}

FamilyConfig read_config(ConfigReader& config, const WeightFiles& files) {
  config.set_defaults_source("Dinov2Config");
  FamilyConfig result;
  ModelConfig& model = result.model;
  read_hf_encoder(config, {.patch_size = {14, 14}, .layer_norm_eps = 1e-6}, model);
  if (config.boolean("use_swiglu_ffn", false)) {
    config.fail(ErrorCode::model_unsupported,
                "\"use_swiglu_ffn\": the SwiGLU feed-forward network is not supported yet");
  }
  model.mlp_size = mlp_size(config, model.hidden_size);
  model.layer_scale = true;
  if (has_hf_head(config, files, hf_dinov2_family(), kHead, result)) {
    model.pooling = Pooling::cls_and_mean;
    model.num_classes = count_hf_classes(config, files, kHead, result);
  } else {
    model.pooling = Pooling::cls;  // Dinov2Model's pooler_output
  }
  return result;
}

}  // namespace

const Family& hf_dinov2_family() {
  static const Family family{
      .name = "hf_dinov2",
      .model_type = "dinov2",
      .classifiers = {"Dinov2ForImageClassification"},
      .headless = {"Dinov2Model", "Dinov2Backbone"},
      .names = name_table(),
      .read_config = read_config,
  };
  return family;
}

}  // namespace vit::io
