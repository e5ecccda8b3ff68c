// Eva: EVA, EVA-02, DINOv3 and other networks with rotary positions, as timm writes them
// (timm/models/eva.py).
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "io/family.hpp"
#include "io/timm_common.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr TimmNaming kNaming{.layer_scale1 = "{block}gamma_1", .layer_scale2 = "{block}gamma_2"};

/// Each block may say how many heads k and v have; supported is one number for all but the first and last
/// few.
void read_kv_heads(TimmArgs& args, ModelConfig& model) {
  const std::vector<std::int64_t> all = args.integers("num_kv_heads", model.num_layers);
  const auto is_full = [&](std::int64_t heads) { return heads == model.num_heads; };
  const auto first = std::find_if_not(all.begin(), all.end(), is_full);
  if (first == all.end()) return;
  model.num_kv_heads = *first;
  model.ungrouped_blocks = first - all.begin();
  for (std::int64_t i = 0; i < std::ssize(all); ++i) {
    if (all[static_cast<std::size_t>(i)] == (model.is_grouped(i) ? model.num_kv_heads : model.num_heads))
      continue;
    args.fail(
        ErrorCode::model_unsupported,
        "\"num_kv_heads\": other numbers than one for the blocks in the middle and num_heads for as many "
        "in front of them as behind them are not supported");
  }
}

void read_attention(TimmArgs& args, ModelConfig& model, TimmNaming& naming) {
  read_timm_norm(args, model);
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
  read_kv_heads(args, model);
  model.layer_scale = args.is_given("init_values");
  model.mlp_layer_scale = !args.boolean("attn_only_layer_scale", false) || !model.layer_scale;
  if (!args.boolean("use_post_norm", false)) return;
  model.block = BlockForm::post_norm;
  if (model.qk_norm || model.num_kv_heads > 0 || args.is_set("attn_only_layer_scale")) {
    args.fail(ErrorCode::model_unsupported,
              "\"use_post_norm\" with qk_norm, num_kv_heads or attn_only_layer_scale is not supported");
  }
  model.layer_scale = false;  // such blocks have none, whatever init_values says
}

void read_mlp(TimmArgs& args, ModelConfig& model, TimmNaming& naming) {
  model.mlp_size = read_timm_mlp_width(args, model.hidden_size);
  model.mlp_norm = args.boolean("scale_mlp", false);
  const std::int64_t align = args.integer("swiglu_align_to", 0);
  if (!args.boolean("swiglu_mlp", false)) return;
  model.mlp = Mlp::gated;
  naming.gate_apart = model.mlp_norm || align > 0;
  model.activation = Activation::silu;
  const bool packed = model.block == BlockForm::post_norm && !model.mlp_norm;  // which is not aligned
  if (align > 0 && !packed) model.mlp_size = (model.mlp_size + align - 1) / align * align;
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
  if ((type != "cat" && type != "dinov3" && type != "mixed") || (order != "ij" && order != "xy")) {
    args.fail(ErrorCode::model_unsupported,
              fmt::format("\"rope_type\" \"{}\" with \"rope_grid_indexing\" \"{}\" is not supported; cat, "
                          "dinov3 and mixed, ij and xy are",
                          type, order));
  }
  model.rotary = type == "cat"      ? RotaryEmbedding::indexed
                 : type == "dinov3" ? RotaryEmbedding::centred
                                    : RotaryEmbedding::mixed;
  if (type == "mixed") {
    if (model.rotary_layout == RotaryLayout::halves)
      args.fail(ErrorCode::model_unsupported,
                "\"rope_rotate_half\" with \"rope_type\" \"mixed\" is not supported");
    model.rotary_offset = 0;  // it does not look at it
  }
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
  model.pooling = read_timm_pooling(args, "avg");
  const std::int64_t heads = args.integer("attn_pool_num_heads", model.num_heads);
  const double ratio = args.number("attn_pool_mlp_ratio", args.number("mlp_ratio", 4));
  if (model.pooling == Pooling::attention) {
    model.pool_prefix = true;
    model.attn_pool_heads = heads;
    model.attn_pool_mlp_size = timm_mlp_width(args, model.hidden_size, ratio);
  }
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
