// Eva: EVA, EVA-02, DINOv3 and other networks with rotary positions, as timm writes them
// (timm/models/eva.py).
#include <fmt/format.h>

#include "io/family.hpp"
#include "io/timm_common.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr TimmNaming kNaming{.layer_scale1 = "{block}gamma_1", .layer_scale2 = "{block}gamma_2"};

void read_attention(TimmArgs& args, ModelConfig& model, TimmNaming& naming) {
  model.layer_norm_eps = static_cast<float>(args.layer_norm_epsilon("norm_layer"));
  const std::string type = args.text("attn_type", "eva");
  if (type != "eva" && type != "rope") {
    args.fail(ErrorCode::model_unsupported,
              fmt::format("\"attn_type\": \"{}\" is not supported; eva and rope are", type));
  }
  model.qkv_bias = args.boolean("qkv_bias", true);
  model.key_bias = type == "rope" || !model.qkv_bias;  // EvaAttention's keys have none
  naming.qkv_apart = !args.boolean("qkv_fused", true);
  model.qk_norm = args.boolean("qk_norm", false);
  model.attn_norm = args.boolean("scale_attn_inner", false);
  for (const char* key : {"num_kv_heads", "use_post_norm", "attn_only_layer_scale"}) args.refuse(key);
  model.layer_scale = args.is_given("init_values");
}

void read_mlp(TimmArgs& args, ModelConfig& model, TimmNaming& naming) {
  model.mlp_size = read_timm_mlp_width(args, model.hidden_size);
  model.mlp_norm = args.boolean("scale_mlp", false);
  const std::int64_t align = args.integer("swiglu_align_to", 0);
  if (!args.boolean("swiglu_mlp", false)) return;
  model.mlp = Mlp::gated;
  naming.gate_apart = model.mlp_norm || align > 0;
  model.activation = Activation::silu;
  if (align > 0) model.mlp_size = (model.mlp_size + align - 1) / align * align;
}

void read_rotary(TimmArgs& args, ModelConfig& model) {
  args.allow({"rope_shift_coords", "rope_jitter_coords", "rope_rescale_coords"});  // for training
  const bool rotary = args.boolean("use_rot_pos_emb", false);
  const std::string type = args.text("rope_type", "cat");
  model.rotary_theta = args.number("rope_temperature", 10000);
  model.rotary_offset = args.number("rope_grid_offset", 0);
  model.rotary_layout =
      args.boolean("rope_rotate_half", false) ? RotaryLayout::halves : RotaryLayout::adjacent;
  const std::string order = args.text("rope_grid_indexing", "ij");
  const Size2 reference = args.size("ref_feat_shape", {});
  args.refuse("rope_mrope_section");
  if (!rotary) return;
  if ((type != "cat" && type != "dinov3") || (order != "ij" && order != "xy")) {
    args.fail(ErrorCode::model_unsupported,
              fmt::format("\"rope_type\" \"{}\" with \"rope_grid_indexing\" \"{}\" is not supported; cat and "
                          "dinov3, ij and xy are",
                          type, order));
  }
  model.rotary = type == "cat" ? RotaryEmbedding::indexed : RotaryEmbedding::centred;
  model.rotary_order = order == "ij" ? RotaryOrder::rows_first : RotaryOrder::columns_first;
  if (type == "cat") model.rotary_grid = reference;
}

void read_tokens(TimmArgs& args, ModelConfig& model) {
  model.class_token = args.boolean("class_token", true);
  model.num_registers = args.integer("num_reg_tokens", 0);
  const bool patches_only = args.boolean("no_embed_class", false);
  model.position_embedding = !args.boolean("use_abs_pos_emb", true) ? PositionEmbedding::none
                             : patches_only                         ? PositionEmbedding::patches
                                                                    : PositionEmbedding::all_tokens;
  model.position_resampling = PositionResampling::bicubic_antialias;
  model.pre_norm = args.boolean("use_pre_transformer_norm", false);
  model.patch_bias = !model.pre_norm;
}

void read_pooling(TimmArgs& args, ModelConfig& model) {
  const std::string pool = args.text("global_pool", "avg");
  if (pool != "avg" && pool != "token") {
    args.fail(ErrorCode::model_unsupported,
              fmt::format("\"global_pool\": \"{}\" is not supported; avg and token are", pool));
  }
  args.allow({"attn_pool_num_heads", "attn_pool_mlp_ratio"});  // of map pooling
  model.pooling = pool == "avg" ? Pooling::mean : Pooling::cls;
  const bool after = args.boolean("use_fc_norm", model.pooling == Pooling::mean);
  const bool before = args.boolean("use_post_transformer_norm", !after);
  if (after && before) {
    args.fail(ErrorCode::model_unsupported,
              "\"use_fc_norm\" and \"use_post_transformer_norm\": both at once are not supported");
  }
  model.final_norm = after ? FinalNorm::after_pooling : before ? FinalNorm::before_pooling : FinalNorm::none;
}

FamilyConfig read_config(ConfigReader& config, const WeightFiles& files) {
  FamilyConfig result;
  ModelConfig& model = result.model;
  TimmArgs args(config, find_timm_architecture(config));
  read_timm_sizes(args, model);
  TimmNaming naming = kNaming;
  read_attention(args, model, naming);
  read_mlp(args, model, naming);
  read_rotary(args, model);
  read_tokens(args, model);
  read_pooling(args, model);
  result.names = timm_names(naming);
  finish_timm_config(config, files, args, result);
  return result;
}

}  // namespace

const Family& timm_eva_family() {
  static const Family family{
      .name = "timm_eva",
      .model_types = {},
      .classifiers = {},
      .headless = {},
      .names = timm_names(kNaming),
      .read_config = read_config,
  };
  return family;
}

}  // namespace vit::io
