// Beit, as timm writes it (timm/models/beit.py).
#include <fmt/format.h>

#include "io/family.hpp"
#include "io/timm_common.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr TimmNaming kNaming{.layer_scale1 = "{block}gamma_1", .layer_scale2 = "{block}gamma_2"};

RelativePositions read_relative_positions(TimmArgs& args) {
  const bool own = args.boolean("use_rel_pos_bias", false);
  const bool shared = args.boolean("use_shared_rel_pos_bias", false);
  if (own && shared) return RelativePositions::both;
  return own ? RelativePositions::per_block : shared ? RelativePositions::shared : RelativePositions::none;
}

void read_pooling(TimmArgs& args, ModelConfig& model) {
  const std::string pool = args.text("global_pool", "avg");
  if (pool != "avg" && pool != "token") {
    args.fail(ErrorCode::model_unsupported,
              fmt::format("\"global_pool\": \"{}\" is not supported; avg and token are", pool));
  }
  model.pooling = pool == "avg" ? Pooling::mean : Pooling::cls;
  if (args.boolean("use_fc_norm", model.pooling == Pooling::mean))
    model.final_norm = FinalNorm::after_pooling;
}

FamilyConfig read_config(ConfigReader& config, const WeightFiles& files) {
  FamilyConfig result;
  ModelConfig& model = result.model;
  TimmArgs args(config, find_timm_architecture(config));
  read_timm_sizes(args, model);
  read_timm_norm(args, model);
  model.qkv_bias = args.boolean("qkv_bias", true);
  model.key_bias = !model.qkv_bias;
  model.mlp_size = read_timm_mlp_width(args, model.hidden_size);
  model.mlp_norm = args.boolean("scale_mlp", false);
  if (args.boolean("swiglu_mlp", false)) {
    model.mlp = Mlp::gated;
    model.activation = Activation::silu;
  }
  model.layer_scale = args.number("init_values", 0) != 0;
  model.position_embedding =
      args.boolean("use_abs_pos_emb", true) ? PositionEmbedding::all_tokens : PositionEmbedding::none;
  model.position_resampling = PositionResampling::bicubic_antialias;
  model.relative_positions = read_relative_positions(args);
  if (model.relative_positions != RelativePositions::none)
    model.relative_resampling =
        RelativeResampling::geometric;  // as timm loads them into a network of another size
  read_pooling(args, model);
  TimmNaming naming = kNaming;
  naming.gate_apart = model.mlp == Mlp::gated;
  result.names = timm_names(naming);
  finish_timm_config(config, files, args, result);
  return result;
}

}  // namespace

const Family& timm_beit_family() {
  static const Family family{
      .name = "timm_beit",
      .model_types = {},
      .classifiers = {},
      .headless = {},
      .names = timm_names(kNaming),
      .read_config = read_config,
  };
  return family;
}

}  // namespace vit::io
