// CLIPForImageClassification and CLIPVisionModel, as transformers writes them (models/clip).
#include "io/family.hpp"
#include "io/hf_vision_tower.hpp"

namespace vit::io {
namespace {

constexpr std::string_view kHead = "classifier";

NameTable names() {
  NameTable table = vision_tower_names("fc_norm");
  table.rules.push_back({"cls_token", {{"{base}embeddings.class_embedding"}}, 2});
  table.rules.push_back({"norm_pre", {{"{base}pre_layrnorm"}}});
  table.network.push_back("pre_layrnorm.");
  return table;
}

/// The classifier averages what the encoder gives; its files hold the norm that only pooler_output sees.
const NameTable& classifier_names() {
  static const NameTable table = [] {
    NameTable classifier = names();
    classifier.ignored.push_back("post_layernorm.");
    return classifier;
  }();
  return table;
}

FamilyConfig read_config(ConfigReader& config, const WeightFiles& files) {
  FamilyConfig result;
  ModelConfig& model = result.model;
  read_vision_tower(config, "CLIPVisionConfig",
                    {.patch_size = {32, 32}, .layer_norm_eps = 1e-5, .activation = Activation::quick_gelu},
                    model);
  model.patch_bias = false;
  model.pre_norm = true;
  if (has_hf_head(config, files, hf_clip_family(), kHead, result)) {
    // The classifier averages what the encoder gives; post_layernorm is there, but only pooler_output sees
    // it.
    model.pooling = Pooling::mean;
    model.final_norm = FinalNorm::none;
    model.num_classes = count_hf_classes(config, files, kHead, result);
    result.names = classifier_names();
  } else {
    model.pooling = Pooling::cls;
    model.final_norm = FinalNorm::after_pooling;
  }
  return result;
}

}  // namespace

const Family& hf_clip_family() {
  static const Family family{
      .name = "hf_clip",
      .model_types = {"clip", "clip_vision_model"},
      .classifiers = {"CLIPForImageClassification"},
      .headless = {"CLIPVisionModel"},
      .names = names(),
      .read_config = read_config,
  };
  return family;
}

}  // namespace vit::io
