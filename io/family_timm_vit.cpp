// VisionTransformer and VisionTransformerDistilled, as timm writes them (timm/models/vision_transformer.py
// and deit.py): config.json with "architecture", whose tensors have the canonical names already.
#include <fmt/format.h>

#include "io/family.hpp"
#include "io/timm_args.hpp"
#include "io/timm_common.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr std::string_view kDistilled = "VisionTransformerDistilled";

void read_mlp(TimmArgs& args, ModelConfig& model, TimmNaming& naming) {
  model.activation = args.activation("act_layer", Activation::gelu);
  model.mlp_size = read_timm_mlp_width(args, model.hidden_size);
  model.mlp_norm = args.boolean("scale_mlp_norm", false);
  // By their classes: Mlp, SwiGLU (two layers in front), GluMlp with the gate first (both in one layer).
  const auto [kind, gate_last] = args.mlp_layer("mlp_layer");
  if (kind == "Mlp") return;
  model.mlp = Mlp::gated;
  naming.gate_apart = kind == "SwiGLU";
  if (kind == "GluMlp" && !gate_last) {
    model.mlp_size /= 2;
  } else if (kind != "SwiGLU") {
    args.refuse("mlp_layer");
  }
}

void read_blocks(TimmArgs& args, ModelConfig& model) {
  model.layer_norm_eps = static_cast<float>(args.layer_norm_epsilon("norm_layer"));
  model.qkv_bias = args.boolean("qkv_bias", true);
  model.qk_norm = args.boolean("qk_norm", false);
  model.layer_scale = args.number("init_values", 0) != 0;
  if (!args.boolean("proj_bias", true)) {
    args.fail(ErrorCode::model_unsupported, "\"proj_bias\": false is not supported");
  }
  model.attn_norm = args.boolean("scale_attn_norm", false);
  for (const char* key : {"embed_norm_layer", "block_fn", "attn_layer", "embed_layer"}) {
    args.refuse(key);
  }
}

void read_tokens(TimmArgs& args, ModelConfig& model) {
  model.class_token = args.boolean("class_token", true);
  model.num_registers = args.integer("reg_tokens", 0);
  const std::string positions = args.text("pos_embed", "learn");
  if (positions.empty() || positions == "none") {
    model.position_embedding = PositionEmbedding::none;
  } else if (positions != "learn") {
    args.refuse("pos_embed");
  }
  if (args.boolean("no_embed_class", false) && model.position_embedding != PositionEmbedding::none)
    model.position_embedding = PositionEmbedding::patches;
  model.position_resampling = PositionResampling::bicubic_antialias;
  model.pre_norm = args.boolean("pre_norm", false);
  model.patch_bias = !model.pre_norm;
}

void read_pooling(TimmArgs& args, ModelConfig& model) {
  const std::string pool = args.text("global_pool", "token");
  if (pool == "token") {
    model.pooling = Pooling::cls;
  } else if (pool == "avg") {
    model.pooling = Pooling::mean;
  } else if (pool == "map") {
    model.pooling = Pooling::attention;
  } else {
    args.fail(ErrorCode::model_unsupported,
              fmt::format("\"global_pool\": \"{}\" is not supported; token, avg and map are", pool));
  }
  args.refuse("pool_include_prefix");
  if (args.boolean("fc_norm", model.pooling == Pooling::mean)) model.final_norm = FinalNorm::after_pooling;
  if (!args.boolean("final_norm", true)) model.final_norm = FinalNorm::none;
}

void read_distillation(const TimmArgs& args, ModelConfig& model) {
  model.distillation = Distillation::head;
  const bool plain = model.num_classes > 0 && model.pooling == Pooling::cls && model.num_registers == 0 &&
                     model.final_norm == FinalNorm::before_pooling &&
                     model.position_embedding == PositionEmbedding::all_tokens;
  if (!plain) {
    args.fail(
        ErrorCode::model_unsupported,
        "a distilled network is supported with classes, token pooling, positions for all tokens and the "
        "norm before the pooling, and without register tokens");
  }
}

FamilyConfig read_config(ConfigReader& config, const WeightFiles& files) {
  const TimmArchitecture& architecture = find_timm_architecture(config);
  FamilyConfig result;
  ModelConfig& model = result.model;
  TimmArgs args(config, architecture);
  read_timm_sizes(args, model);
  TimmNaming naming;
  read_mlp(args, model, naming);
  read_blocks(args, model);
  read_tokens(args, model);
  read_pooling(args, model);
  if (architecture.model_class == kDistilled) read_distillation(args, model);
  result.names = timm_names(naming);
  // SigLIP's weights bring their attention pooling along where an architecture pools otherwise; timm drops
  // it.
  if (architecture.name.find("siglip") != std::string_view::npos && model.pooling != Pooling::attention)
    result.names->ignored.push_back("attn_pool.");
  finish_timm_config(config, files, args, result);
  return result;
}

}  // namespace

const Family& timm_vit_family() {
  static const Family family{
      .name = "timm_vit",
      .model_types = {},
      .classifiers = {},
      .headless = {},
      .names = timm_names({}),
      .read_config = read_config,
  };
  return family;
}

}  // namespace vit::io
