// VisionTransformer and VisionTransformerDistilled, as timm writes them (timm/models/vision_transformer.py
// and deit.py): config.json with "architecture", whose tensors have the canonical names already.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/family.hpp"
#include "io/timm_args.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr std::string_view kDistilled = "VisionTransformerDistilled";

/// Names of rules, with "{base}" and "{block}" in front: the file's are the network's own.
NameTable name_table(bool ignores_attention_pool) {
  NameTable table{
      .bases = {""},
      .blocks = {"blocks."},
      .rules = {},
      .ignored = {},
      .network = {"cls_token", "dist_token", "reg_token", "pos_embed", "patch_embed.", "norm_pre.", "blocks.",
                  "norm.", "fc_norm.", "attn_pool.", "head.", "head_dist."}};
  for (const std::string_view name :
       {"cls_token", "dist_token", "reg_token", "pos_embed", "patch_embed.proj", "norm_pre", "norm",
        "fc_norm", "attn_pool.latent", "attn_pool.q", "attn_pool.kv", "attn_pool.proj", "attn_pool.norm",
        "attn_pool.mlp.fc1", "attn_pool.mlp.fc2", "head", "head_dist"}) {
    table.rules.push_back({name, {{name}}});
  }
  const auto block = [&](std::string_view canonical, std::vector<Spelling> spellings) {
    table.rules.push_back({canonical, std::move(spellings)});
  };
  block("blocks.*.norm1", {{"{block}norm1"}});
  block("blocks.*.attn.qkv", {{"{block}attn.qkv"}});
  block("blocks.*.attn.q_norm", {{"{block}attn.q_norm"}});
  block("blocks.*.attn.k_norm", {{"{block}attn.k_norm"}});
  block("blocks.*.attn.proj", {{"{block}attn.proj"}});
  block("blocks.*.ls1.gamma", {{"{block}ls1.gamma"}});
  block("blocks.*.norm2", {{"{block}norm2"}});
  block("blocks.*.mlp.fc1", {{"{block}mlp.fc1"}, {"{block}mlp.fc1_g", "{block}mlp.fc1_x"}});
  block("blocks.*.mlp.fc2", {{"{block}mlp.fc2"}});
  block("blocks.*.ls2.gamma", {{"{block}ls2.gamma"}});
  if (ignores_attention_pool) table.ignored.push_back("attn_pool.");
  return table;
}

/// SigLIP's weights bring their attention pooling along where an architecture pools otherwise; timm drops it.
const NameTable& siglip_names() {
  static const NameTable table = name_table(true);
  return table;
}

const TimmArchitecture& find_architecture(const ConfigReader& config, std::string_view name) {
  name = name.substr(0, name.find('.'));  // "vit_base_patch16_224.augreg_in21k": a tag says whose weights
  const auto all = timm_architectures();
  const auto row = std::lower_bound(all.begin(), all.end(), name,
                                    [](const TimmArchitecture& a, std::string_view b) { return a.name < b; });
  if (row == all.end() || row->name != name) {
    config.fail(ErrorCode::model_unsupported,
                fmt::format("\"architecture\": \"{}\" is none of the {} that timm 1.0.31 has in "
                            "vision_transformer.py, deit.py, beit.py and eva.py",
                            name, all.size()));
  }
  if (!row->model_class.starts_with("VisionTransformer")) {
    config.fail(ErrorCode::model_unsupported,
                fmt::format("\"architecture\": \"{}\" is one of timm's {} networks, which are not supported "
                            "yet; VisionTransformer and VisionTransformerDistilled are",
                            name, row->model_class));
  }
  return *row;
}

void read_sizes(TimmArgs& args, ModelConfig& model) {
  model.image_size = args.size("img_size", {224, 224});
  model.patch_size = args.size("patch_size", {16, 16});
  model.num_channels = args.integer("in_chans", 3);
  model.hidden_size = args.integer("embed_dim", 768);
  model.num_layers = args.integer("depth", 12);
  model.num_heads = args.integer("num_heads", 12);
  model.num_classes = args.integer("num_classes", 1000);
}

void read_mlp(TimmArgs& args, ModelConfig& model) {
  model.activation = args.activation("act_layer", Activation::gelu);
  const double size = std::trunc(static_cast<double>(model.hidden_size) * args.number("mlp_ratio", 4));
  if (!(size >= 1 && size <= 1e9)) {
    args.fail(ErrorCode::config_invalid,
              fmt::format("\"mlp_ratio\": gives an MLP of width {}, expected 1 or more", size));
  }
  model.mlp_size = static_cast<std::int64_t>(size);
  // By their classes: Mlp, SwiGLU (two layers in front), GluMlp with the gate first (both in one layer).
  const auto [kind, gate_last] = args.mlp_layer("mlp_layer");
  if (kind == "Mlp") return;
  model.mlp = Mlp::gated;
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
  for (const char* key :
       {"scale_attn_norm", "scale_mlp_norm", "embed_norm_layer", "block_fn", "attn_layer", "embed_layer"}) {
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

/// Class names: label_names (a list, or an object by index), and what label_descriptions says of them.
std::optional<std::map<std::int64_t, std::string>> read_labels(const ConfigReader& config) {
  const JsonSource source(config.name(), ErrorCode::config_invalid);
  const Json* cfg = find_object(config.json(), "pretrained_cfg", source);
  const auto find_either = [&](std::string_view key) {
    const Json* value = find(config.json(), key);
    return value != nullptr || cfg == nullptr ? value : find(*cfg, key);
  };
  const Json* names = find_either("label_names");
  if (names == nullptr) names = find_either("labels");
  if (names == nullptr) return std::nullopt;
  const Json* descriptions = find_either("label_descriptions");
  std::map<std::int64_t, std::string> labels;
  for (const auto& [key, name] : names->items()) {  // of an array: its indices
    if (!name.is_string() || key.empty() || key.size() > 9 ||
        key.find_first_not_of("0123456789") != std::string::npos) {
      throw_unexpected(source, "label_names", "names in a list, or by their index", *names);
    }
    std::string text = name.get<std::string>();
    if (descriptions != nullptr && descriptions->is_object()) {
      if (const auto description = find_string(*descriptions, text, source)) text = *description;
    }
    labels[std::stoll(key)] = std::move(text);
  }
  return labels;
}

FamilyConfig read_config(ConfigReader& config, const WeightFiles&) {
  const std::string name = config.find_text("architecture").value_or("");
  const TimmArchitecture& architecture = find_architecture(config, name);
  FamilyConfig result;
  result.architecture = name;
  result.labels = read_labels(config);
  ModelConfig& model = result.model;
  TimmArgs args(config, architecture);
  read_sizes(args, model);
  read_mlp(args, model);
  read_blocks(args, model);
  read_tokens(args, model);
  read_pooling(args, model);
  if (architecture.model_class == kDistilled) read_distillation(args, model);
  // Any size is taken anyway; the rest is for training.
  args.allow({"dynamic_img_size", "drop_rate", "pos_drop_rate", "patch_drop_rate", "proj_drop_rate",
              "attn_drop_rate", "drop_path_rate", "weight_init", "fix_init"});
  args.refuse("dynamic_img_pad");
  args.finish();
  if (architecture.name.find("siglip") != std::string_view::npos && model.pooling != Pooling::attention)
    result.names = &siglip_names();
  if (result.labels && !result.labels->empty() && result.labels->rbegin()->first >= model.num_classes) {
    result.notes.push_back(
        fmt::format("label_names go beyond the {} classes and are not used", model.num_classes));
    result.labels.reset();
  }
  return result;
}

}  // namespace

const Family& timm_vit_family() {
  static const Family family{
      .name = "timm_vit",
      .model_types = {},
      .classifiers = {},
      .headless = {},
      .names = name_table(false),
      .read_config = read_config,
  };
  return family;
}

}  // namespace vit::io
