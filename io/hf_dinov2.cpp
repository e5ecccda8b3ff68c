#include "io/hf_dinov2.hpp"

#include <fmt/format.h>

#include <cmath>

#include "io/hf_common.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr std::string_view kHead = "classifier";

/// int(D * mlp_ratio), in Python's arithmetic.
std::int64_t mlp_width(ConfigReader& config, std::int64_t hidden_size) {
  const double size = std::trunc(static_cast<double>(hidden_size) * config.number("mlp_ratio", 4));
  if (!(size >= 1 && size <= 1e9)) {
    config.fail(ErrorCode::config_invalid,
                fmt::format("\"mlp_ratio\": gives an MLP of width {}, expected 1 or more", size));
  }
  return static_cast<std::int64_t>(size);
}

/// A gate doubles the weights of a width: two thirds of it, rounded up to a multiple of 8.
std::int64_t gated_width(std::int64_t width) {
  return (width * 2 / 3 + 7) / 8 * 8;
}

}  // namespace

NameTable dinov2_names(std::string_view base) {
  return {
      .bases = {base, ""},
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
              {"blocks.*.mlp.fc1",
               {{"{block}mlp.fc1"},
                {"{block}mlp.weights_in"},
                {"{block}mlp.gate_proj", "{block}mlp.up_proj"}}},
              {"blocks.*.mlp.fc2",
               {{"{block}mlp.fc2"}, {"{block}mlp.weights_out"}, {"{block}mlp.down_proj"}}},
              {"blocks.*.ls2.gamma", {{"{block}layer_scale2.lambda1"}}},
              {"norm", {{"{base}layernorm"}}},
              {"head", {{kHead}}},
          },
      .ignored = {"embeddings.mask_token", "embeddings.position_ids"},  // masks are for training only
      .network = {"embeddings.", "encoder.", "layernorm.", "classifier."},
  };
}

FamilyConfig read_dinov2(ConfigReader& config, const WeightFiles& files, const Family& family,
                         Size2 default_patch_size) {
  FamilyConfig result;
  ModelConfig& model = result.model;
  read_hf_encoder(config, {.patch_size = default_patch_size, .layer_norm_eps = 1e-6}, model);
  model.mlp_size = mlp_width(config, model.hidden_size);
  if (config.boolean("use_swiglu_ffn", false)) {
    model.mlp = Mlp::gated;
    model.mlp_size = gated_width(model.mlp_size);
    model.activation = Activation::silu;
    config.note("hidden_act", "silu", "what use_swiglu_ffn means, whatever config.json says");
  }
  model.layer_scale = true;
  if (has_hf_head(config, files, family, kHead, result)) {
    model.pooling = Pooling::cls_and_mean;
    model.num_classes = count_hf_classes(config, files, kHead, result);
  } else {
    model.pooling = Pooling::cls;  // the model's pooler_output
  }
  return result;
}

}  // namespace vit::io
