// VisionTransformer and VisionTransformerDistilled, as timm writes them (timm/models/vision_transformer.py
// and deit.py): config.json with "architecture", whose tensors have the canonical names already.
#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "io/family.hpp"
#include "io/timm_args.hpp"
#include "io/timm_common.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr std::string_view kDistilled = "VisionTransformerDistilled";

/// The first rule for a name counts.
void put_first(std::vector<NameRule> rules, NameTable& table) {
  table.rules.insert(table.rules.begin(), std::make_move_iterator(rules.begin()),
                     std::make_move_iterator(rules.end()));
}

/// ParallelScalingBlock and DiffParallelScalingBlock: one matrix for fc1 and qkv, in that order.
void name_parallel_blocks(const ModelConfig& model, NameTable& table) {
  const std::int64_t F = model.mlp_size;
  const std::int64_t all = F + 3 * model.hidden_size;
  const Cut mlp{0, F, all};
  const Cut qkv{F, all, all};
  put_first({{"blocks.*.norm1", {{"{block}in_norm"}}},
             {"blocks.*.attn.qkv", {{"{block}in_proj"}}, 0, qkv},
             {"blocks.*.mlp.fc1", {{"{block}in_proj"}}, 0, mlp},
             {"blocks.*.attn.q_norm", {{"{block}q_norm"}}},
             {"blocks.*.attn.k_norm", {{"{block}k_norm"}}},
             {"blocks.*.attn.lambda_q1", {{"{block}lambda_q1"}}},
             {"blocks.*.attn.lambda_k1", {{"{block}lambda_k1"}}},
             {"blocks.*.attn.lambda_q2", {{"{block}lambda_q2"}}},
             {"blocks.*.attn.lambda_k2", {{"{block}lambda_k2"}}},
             {"blocks.*.attn.sub_norm", {{"{block}sub_norm"}}},
             {"blocks.*.attn.proj", {{"{block}attn_out_proj"}}},
             {"blocks.*.mlp.fc2", {{"{block}mlp_out_proj"}}},
             {"blocks.*.out_proj", {{"{block}out_proj"}}},
             {"blocks.*.ls1.gamma", {{"{block}ls.gamma"}}}},
            table);
  if (!model.qkv_bias) put_first({{"blocks.*.mlp.fc1.bias", {{"{block}mlp_bias"}}}}, table);
}

/// ParallelThingsBlock: lists of two.
void name_twin_blocks(NameTable& table) {
  put_first({{"blocks.*.norm1", {{"{block}attns.0.norm"}}},
             {"blocks.*.attn.qkv", {{"{block}attns.0.attn.qkv"}}},
             {"blocks.*.attn.q_norm", {{"{block}attns.0.attn.q_norm"}}},
             {"blocks.*.attn.k_norm", {{"{block}attns.0.attn.k_norm"}}},
             {"blocks.*.attn.norm", {{"{block}attns.0.attn.norm"}}},
             {"blocks.*.attn.proj", {{"{block}attns.0.attn.proj"}}},
             {"blocks.*.ls1.gamma", {{"{block}attns.0.ls.gamma"}}},
             {"blocks.*.norm2", {{"{block}ffns.0.norm"}}},
             {"blocks.*.mlp.fc1",
              {{"{block}ffns.0.mlp.fc1"}, {"{block}ffns.0.mlp.fc1_g", "{block}ffns.0.mlp.fc1_x"}}},
             {"blocks.*.mlp.norm", {{"{block}ffns.0.mlp.norm"}}},
             {"blocks.*.mlp.fc2", {{"{block}ffns.0.mlp.fc2"}}},
             {"blocks.*.ls2.gamma", {{"{block}ffns.0.ls.gamma"}}},
             {"blocks.*.twin.norm1", {{"{block}attns.1.norm"}}},
             {"blocks.*.twin.attn.qkv", {{"{block}attns.1.attn.qkv"}}},
             {"blocks.*.twin.attn.q_norm", {{"{block}attns.1.attn.q_norm"}}},
             {"blocks.*.twin.attn.k_norm", {{"{block}attns.1.attn.k_norm"}}},
             {"blocks.*.twin.attn.norm", {{"{block}attns.1.attn.norm"}}},
             {"blocks.*.twin.attn.proj", {{"{block}attns.1.attn.proj"}}},
             {"blocks.*.twin.ls1.gamma", {{"{block}attns.1.ls.gamma"}}},
             {"blocks.*.twin.norm2", {{"{block}ffns.1.norm"}}},
             {"blocks.*.twin.mlp.fc1",
              {{"{block}ffns.1.mlp.fc1"}, {"{block}ffns.1.mlp.fc1_g", "{block}ffns.1.mlp.fc1_x"}}},
             {"blocks.*.twin.mlp.norm", {{"{block}ffns.1.mlp.norm"}}},
             {"blocks.*.twin.mlp.fc2", {{"{block}ffns.1.mlp.fc2"}}},
             {"blocks.*.twin.ls2.gamma", {{"{block}ffns.1.ls.gamma"}}}},
            table);
}

/// SigLIP's weights bring their attention pooling along where an architecture pools otherwise; timm drops it.
NameTable names_of(const ModelConfig& model, std::string_view architecture, const TimmNaming& naming) {
  NameTable table = timm_names(naming);
  if (architecture.find("siglip") != std::string_view::npos && model.pooling != Pooling::attention)
    table.ignored.push_back("attn_pool.");
  if (model.is_parallel()) name_parallel_blocks(model, table);
  if (model.block == BlockForm::twin) name_twin_blocks(table);
  return table;
}

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

/// norm_layer, and embed_norm_layer, which has to be the same.
void read_norms(TimmArgs& args, ModelConfig& model) {
  read_timm_norm(args, model);
  model.embed_norm = args.is_given("embed_norm_layer");
  if (model.embed_norm && !(args.norm_layer("embed_norm_layer") == args.norm_layer("norm_layer"))) {
    args.fail(ErrorCode::model_unsupported,
              "\"embed_norm_layer\": another norm than \"norm_layer\" is not supported");
  }
}

void read_attention_form(TimmArgs& args, ModelConfig& model) {
  const TimmArgs::Layer layer = args.layer("attn_layer", "attn", {});
  if (layer.name == "diff" || layer.name == "DiffAttention") {
    model.attention = AttentionForm::differential;
  } else if (!layer.name.empty() && layer.name != "attn" && layer.name != "Attention") {
    args.refuse("attn_layer");
  }
}

/// By their classes. Arguments of their own have the class's defaults, or are refused.
void read_block_form(TimmArgs& args, ModelConfig& model) {
  const TimmArgs::Layer block = args.layer("block_fn", "Block", {"fuse_out_proj"});
  const bool fused = block.arguments.value("fuse_out_proj", Json(false)) == Json(true);
  if (block.name == "ResPostBlock") {
    model.block = BlockForm::post_norm;
    model.layer_scale = false;  // init_values is for the norms' weights
  } else if (block.name == "ParallelThingsBlock") {
    model.block = BlockForm::twin;
  } else if (block.name == "ParallelScalingBlock") {
    model.block = fused ? BlockForm::parallel_fused : BlockForm::parallel;
    model.attention = AttentionForm::softmax;  // it does not look at attn_layer
  } else if (block.name == "DiffParallelScalingBlock") {
    model.block = BlockForm::parallel_fused;
    model.attention = AttentionForm::differential;
  } else if (block.name != "Block") {
    args.refuse("block_fn");
  }
  if (!model.is_parallel()) return;
  model.layer_scale = args.is_given("init_values");  // a 0, too
  model.mlp = Mlp::plain;                            // nor at mlp_layer
}

void read_blocks(TimmArgs& args, ModelConfig& model) {
  read_norms(args, model);
  model.qkv_bias = args.boolean("qkv_bias", true);
  model.qk_norm = args.boolean("qk_norm", false);
  model.layer_scale = args.number("init_values", 0) != 0;
  model.proj_bias = args.boolean("proj_bias", true);
  model.attn_norm = args.boolean("scale_attn_norm", false);
  read_attention_form(args, model);
  read_block_form(args, model);
  args.refuse("embed_layer");
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
  model.pooling = read_timm_pooling(args, "token");
  model.pool_prefix = args.boolean("pool_include_prefix", false);
  const bool reduces = model.pooling != Pooling::cls && model.pooling != Pooling::attention;
  if (args.boolean("fc_norm", reduces)) model.final_norm = FinalNorm::after_pooling;
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
  result.names = names_of(model, architecture.name, naming);
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
