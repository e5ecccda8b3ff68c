// BeitForImageClassification and BeitModel, as transformers writes them (models/beit).
#include "io/family.hpp"
#include "io/hf_common.hpp"

namespace vit::io {
namespace {

constexpr std::string_view kBase = "beit.";
constexpr std::string_view kHead = "classifier";

RelativePositions read_relative_positions(ConfigReader& config) {
  const bool own = config.boolean("use_relative_position_bias", false);
  const bool shared = config.boolean("use_shared_relative_position_bias", false);
  if (own && shared) return RelativePositions::both;
  return own ? RelativePositions::per_block : shared ? RelativePositions::shared : RelativePositions::none;
}

FamilyConfig read_config(ConfigReader& config, const WeightFiles& files) {
  config.set_defaults_source("BeitConfig");
  FamilyConfig result;
  ModelConfig& model = result.model;
  read_hf_encoder(config, {.patch_size = {16, 16}, .layer_norm_eps = 1e-12}, model);
  model.mlp_size = config.integer("intermediate_size", 3072);
  model.qkv_bias = true;  // BeitConfig has no say in it
  model.key_bias = false;
  model.layer_scale = config.number("layer_scale_init_value", 0.1) > 0;
  model.position_embedding = config.boolean("use_absolute_position_embeddings", false)
                                 ? PositionEmbedding::all_tokens
                                 : PositionEmbedding::none;
  model.relative_positions = read_relative_positions(config);
  model.relative_resampling = RelativeResampling::bilinear;
  const bool mean = config.boolean("use_mean_pooling", true);
  model.pooling = mean ? Pooling::mean : Pooling::cls;
  model.final_norm = mean ? FinalNorm::after_pooling : FinalNorm::before_pooling;
  if (has_hf_head(config, files, hf_beit_family(), kHead, result))
    model.num_classes = count_hf_classes(config, files, kHead, result);
  return result;
}

NameTable names() {
  NameTable table = hf_vit_names(kBase);
  std::erase_if(table.rules, [](const NameRule& rule) {
    return rule.canonical == "dist_token" || rule.canonical == "pooler.dense";
  });
  const auto rule = [&](std::string_view canonical, std::vector<Spelling> spellings) {
    table.rules.push_back({canonical, std::move(spellings)});
  };
  rule("blocks.*.attn.q_bias", {{"{block}attention.attention.query.bias"}, {"{block}attention.q_proj.bias"}});
  rule("blocks.*.attn.v_bias", {{"{block}attention.attention.value.bias"}, {"{block}attention.v_proj.bias"}});
  rule("blocks.*.attn.relative_position_bias_table",
       {{"{block}attention.attention.relative_position_bias.relative_position_bias_table"},
        {"{block}relative_position_bias.relative_position_bias_table"}});
  rule("rel_pos_bias.relative_position_bias_table",
       {{"{base}encoder.relative_position_bias.relative_position_bias_table"},
        {"{base}relative_position_bias.relative_position_bias_table"},
        {"{base}shared_position_bias.relative_position_bias_table"}});
  rule("blocks.*.ls1.gamma", {{"{block}lambda_1"}});
  rule("blocks.*.ls2.gamma", {{"{block}lambda_2"}});
  rule("fc_norm", {{"{base}pooler.layernorm"}});
  table.ignored = {"embeddings.mask_token", "embeddings.position_ids"};
  table.ignored_endings = {".relative_position_index"};  // a constant that old files hold
  table.network.insert(table.network.end(), {"pooler.", "relative_position_bias.", "shared_position_bias."});
  return table;
}

}  // namespace

const Family& hf_beit_family() {
  static const Family family{
      .name = "hf_beit",
      .model_types = {"beit"},
      .classifiers = {"BeitForImageClassification"},
      .headless = {"BeitModel", "BeitBackbone"},
      .names = names(),
      .read_config = read_config,
  };
  return family;
}

}  // namespace vit::io
