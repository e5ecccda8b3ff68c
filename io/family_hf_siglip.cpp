// SiglipForImageClassification and SiglipVisionModel, as transformers writes them (models/siglip).
#include "io/family.hpp"
#include "io/hf_vision_tower.hpp"

namespace vit::io {
namespace {

constexpr std::string_view kHead = "classifier";

NameTable names() {
  NameTable table = vision_tower_names("norm");
  const auto rule = [&](std::string_view canonical, std::string_view name, Cut cut = {}) {
    table.rules.push_back({canonical, {{name}}, 0, cut});
  };
  rule("attn_pool.latent", "{base}head.probe");
  // torch.nn.MultiheadAttention keeps q, k and v in one tensor.
  rule("attn_pool.q", "{base}head.attention.in_proj_", {0, 1, 3});
  rule("attn_pool.kv", "{base}head.attention.in_proj_", {1, 3, 3});
  rule("attn_pool.proj", "{base}head.attention.out_proj");
  rule("attn_pool.norm", "{base}head.layernorm");
  rule("attn_pool.mlp.fc1", "{base}head.mlp.fc1");
  rule("attn_pool.mlp.fc2", "{base}head.mlp.fc2");
  table.network.push_back("head.");
  return table;
}

/// The classifier does not look at the tower's attention pooling, which its files hold all the same.
const NameTable& classifier_names() {
  static const NameTable table = [] {
    NameTable classifier = names();
    classifier.ignored.push_back("head.");
    return classifier;
  }();
  return table;
}

FamilyConfig read_config(ConfigReader& config, const WeightFiles& files) {
  FamilyConfig result;
  ModelConfig& model = result.model;
  read_vision_tower(config, "SiglipVisionConfig",
                    {.patch_size = {16, 16}, .layer_norm_eps = 1e-6, .activation = Activation::gelu_tanh},
                    model);
  model.class_token = false;
  model.pooling = Pooling::mean;
  if (has_hf_head(config, files, hf_siglip_family(), kHead, result)) {
    model.num_classes = count_hf_classes(config, files, kHead, result);
    result.names = classifier_names();
  } else if (vision_tower_config(config).boolean("vision_use_head", true)) {
    model.pooling = Pooling::attention;
  } else {
    result.notes.emplace_back("vision_use_head is false: the features are the mean of the tokens");
  }
  return result;
}

}  // namespace

const Family& hf_siglip_family() {
  static const Family family{
      .name = "hf_siglip",
      .model_types = {"siglip", "siglip_vision_model"},
      .classifiers = {"SiglipForImageClassification"},
      .headless = {"SiglipVisionModel"},
      .names = names(),
      .read_config = read_config,
  };
  return family;
}

}  // namespace vit::io
