// ViTForImageClassification, ViTModel and their like, as transformers writes them (models/vit).
#include "io/family.hpp"
#include "io/hf_common.hpp"

namespace vit::io {
namespace {

constexpr std::string_view kBase = "vit.";
constexpr std::string_view kHead = "classifier";

FamilyConfig read_config(ConfigReader& config, const WeightFiles& files) {
  config.set_defaults_source("ViTConfig");
  FamilyConfig result;
  ModelConfig& model = result.model;
  read_hf_encoder(config, {.patch_size = {16, 16}, .layer_norm_eps = 1e-12}, model);
  model.mlp_size = config.integer("intermediate_size", 3072);
  model.pooling = Pooling::cls;
  if (has_hf_head(config, files, hf_vit_family(), kHead, result)) {
    model.num_classes = count_hf_classes(config, files, kHead, result);
  } else {
    read_hf_pooler(config, files, kBase, result);
  }
  return result;
}

}  // namespace

const Family& hf_vit_family() {
  static const Family family{
      .name = "hf_vit",
      .model_types = {"vit"},
      .classifiers = {"ViTForImageClassification"},
      .headless = {"ViTModel", "ViTForMaskedImageModeling"},
      .names = hf_vit_names(kBase),
      .read_config = read_config,
  };
  return family;
}

}  // namespace vit::io
