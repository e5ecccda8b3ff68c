#include "io/timm_common.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/release_sizes.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

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

/// timm resamples the positions of weights that were made for images of another size; here the table keeps
/// the size that it has.
void fit_image_size(const WeightFiles& files, TimmArgs& args, ModelConfig& model) {
  const StoredTensor* table = files.find("pos_embed");
  if (table == nullptr || table->shape.size() != 3) return;
  const std::int64_t patches = table->shape[1] - model.num_prefix_positions();
  const auto side = square_side(patches);
  if (!side || patches == model.num_patches(model.image_size)) return;
  model.image_size = {*side * model.patch_size.height, *side * model.patch_size.width};
  args.note("img_size", fmt::format("[{}, {}]", model.image_size.height, model.image_size.width),
            "rows of pos_embed");
}

}  // namespace

std::string_view current_timm_name(std::string_view name) {
  for (const TimmFormerName& former : timm_former_names()) {
    if (former.name == name) return former.current;
  }
  return name;
}

const TimmArchitecture& find_timm_architecture(const ConfigReader& config) {
  const std::string given = config.find_text("architecture").value_or("");
  const std::string_view full = current_timm_name(given);
  const std::string_view name =  // "vit_base_patch16_224.augreg_in21k": a tag says whose weights
      full.substr(0, full.find('.'));
  const auto all = timm_architectures();
  const auto row = std::lower_bound(all.begin(), all.end(), name,
                                    [](const TimmArchitecture& a, std::string_view b) { return a.name < b; });
  if (row == all.end() || row->name != name) {
    config.fail(ErrorCode::model_unsupported,
                fmt::format("\"architecture\": \"{}\" is none of the {} that timm 1.0.31 has in "
                            "vision_transformer.py, deit.py, beit.py and eva.py",
                            name, all.size()));
  }
  return *row;
}

const Family& select_timm_family(const ConfigReader& config) {
  const std::string_view model_class = find_timm_architecture(config).model_class;
  if (model_class == "Beit") return timm_beit_family();
  if (model_class == "Eva") return timm_eva_family();
  return timm_vit_family();
}

NameTable timm_names(const TimmNaming& naming) {
  NameTable table{.bases = {""},
                  .blocks = {"blocks."},
                  .rules = {},
                  .ignored = {"mask_token"},  // for training
                  .network = {"cls_token", "dist_token", "reg_token", "pos_embed", "patch_embed.",
                              "norm_pre.", "rel_pos_bias.", "rope.", "blocks.", "norm.", "fc_norm.",
                              "attn_pool.", "head.", "head_dist."}};
  table.ignored_endings = {".relative_position_index"};  // a constant that old files hold
  for (const std::string_view name :
       {"cls_token",      "dist_token",        "reg_token",
        "pos_embed",      "patch_embed.proj",  "patch_embed.norm",
        "norm_pre",       "rope.freqs",        "rel_pos_bias.relative_position_bias_table",
        "norm",           "fc_norm",           "attn_pool.latent",
        "attn_pool.q",    "attn_pool.kv",      "attn_pool.proj",
        "attn_pool.norm", "attn_pool.mlp.fc1", "attn_pool.mlp.fc2",
        "head",           "head_dist"}) {
    table.rules.push_back({name, {{name}}});
  }
  const auto block = [&](std::string_view canonical, std::vector<Spelling> spellings,
                         bool second_first = false) {
    if (second_first) std::swap(spellings.at(0), spellings.at(1));
    table.rules.push_back({canonical, std::move(spellings)});
  };
  block("blocks.*.norm1", {{"{block}norm1"}});
  block("blocks.*.attn.q", {{"{block}attn.q_proj"}});
  block("blocks.*.attn.kv", {{"{block}attn.k_proj", "{block}attn.v_proj"}});
  block("blocks.*.attn.qkv",
        {{"{block}attn.qkv"}, {"{block}attn.q_proj", "{block}attn.k_proj", "{block}attn.v_proj"}},
        naming.qkv_apart);
  block("blocks.*.attn.q_bias", {{"{block}attn.q_bias"}, {"{block}attn.q_proj.bias"}}, naming.qkv_apart);
  block("blocks.*.attn.v_bias", {{"{block}attn.v_bias"}, {"{block}attn.v_proj.bias"}}, naming.qkv_apart);
  block("blocks.*.attn.q_norm", {{"{block}attn.q_norm"}});
  block("blocks.*.attn.k_norm", {{"{block}attn.k_norm"}});
  block("blocks.*.attn.relative_position_bias_table", {{"{block}attn.relative_position_bias_table"}});
  block("blocks.*.attn.lambda_q1", {{"{block}attn.lambda_q1"}});
  block("blocks.*.attn.lambda_k1", {{"{block}attn.lambda_k1"}});
  block("blocks.*.attn.lambda_q2", {{"{block}attn.lambda_q2"}});
  block("blocks.*.attn.lambda_k2", {{"{block}attn.lambda_k2"}});
  block("blocks.*.attn.sub_norm", {{"{block}attn.sub_norm"}});
  block("blocks.*.attn.norm", {{"{block}attn.norm"}});
  block("blocks.*.attn.proj", {{"{block}attn.proj"}});
  block("blocks.*.ls1.gamma", {{naming.layer_scale1}});
  block("blocks.*.norm2", {{"{block}norm2"}});
  block("blocks.*.mlp.fc1", {{"{block}mlp.fc1"}, {"{block}mlp.fc1_g", "{block}mlp.fc1_x"}},
        naming.gate_apart);
  block("blocks.*.mlp.norm", {{"{block}mlp.norm"}});
  block("blocks.*.mlp.fc2", {{"{block}mlp.fc2"}});
  block("blocks.*.ls2.gamma", {{naming.layer_scale2}});
  return table;
}

void read_timm_sizes(TimmArgs& args, ModelConfig& model) {
  model.image_size = args.size("img_size", {224, 224});
  model.patch_size = args.size("patch_size", {16, 16});
  model.num_channels = args.integer("in_chans", 3);
  model.hidden_size = args.integer("embed_dim", 768);
  model.num_layers = args.integer("depth", 12);
  model.num_heads = args.integer("num_heads", 12);
  model.num_classes = args.integer("num_classes", 1000);
}

void read_timm_norm(TimmArgs& args, ModelConfig& model) {
  const TimmArgs::NormLayer norm = args.norm_layer("norm_layer");
  model.norm = norm.kind;
  model.layer_norm_eps = static_cast<float>(norm.epsilon);
}

Pooling read_timm_pooling(TimmArgs& args, std::string_view otherwise) {
  const std::string pool = args.text("global_pool", otherwise);
  for (const auto& [name, pooling] :
       {std::pair("token", Pooling::cls), std::pair("avg", Pooling::mean), std::pair("max", Pooling::max),
        std::pair("avgmax", Pooling::mean_max), std::pair("map", Pooling::attention)}) {
    if (pool == name) return pooling;
  }
  args.fail(
      ErrorCode::model_unsupported,
      fmt::format("\"global_pool\": \"{}\" is not supported; token, avg, max, avgmax and map are", pool));
}

std::int64_t read_timm_mlp_width(TimmArgs& args, std::int64_t hidden_size) {
  return timm_mlp_width(args, hidden_size, args.number("mlp_ratio", 4));
}

std::int64_t timm_mlp_width(const TimmArgs& args, std::int64_t hidden_size, double ratio) {
  const double size = std::trunc(static_cast<double>(hidden_size) * ratio);
  if (!(size >= 1 && size <= 1e9)) {
    args.fail(ErrorCode::config_invalid,
              fmt::format("\"mlp_ratio\": gives an MLP of width {}, expected 1 or more", size));
  }
  return static_cast<std::int64_t>(size);
}

void finish_timm_config(const ConfigReader& config, const WeightFiles& files, TimmArgs& args,
                        FamilyConfig& result) {
  if (config.is_named()) fit_image_size(files, args, result.model);
  // timm reads what JAX's ViT and AugReg were published as.
  if (google_vit_family().recognises(files)) result.names = google_vit_names();
  result.architecture = config.find_text("architecture").value_or("");
  result.labels = read_labels(config);
  const std::int64_t classes = result.model.num_classes;
  if (result.labels && !result.labels->empty() && result.labels->rbegin()->first >= classes) {
    result.notes.push_back(fmt::format("label_names go beyond the {} classes and are not used", classes));
    result.labels.reset();
  }
  // Images of any size are taken anyway; the rest is for training.
  args.allow({"dynamic_img_size", "drop_rate", "pos_drop_rate", "patch_drop_rate", "proj_drop_rate",
              "attn_drop_rate", "drop_path_rate", "weight_init", "fix_init", "head_init_scale"});
  args.refuse("dynamic_img_pad");
  args.finish();
}

}  // namespace vit::io
