// IJepaForImageClassification and IJepaModel, as transformers writes them (models/ijepa): ViT without a class
// token.
#include "io/family.hpp"
#include "io/hf_common.hpp"

namespace vit::io {
namespace {

constexpr std::string_view kHead = "classifier";

FamilyConfig read_config(ConfigReader& config, const WeightFiles& files) {
  config.set_defaults_source("IJepaConfig");
  FamilyConfig result;
  ModelConfig& model = result.model;
  read_hf_encoder(config, {.patch_size = {16, 16}, .layer_norm_eps = 1e-12}, model);
  model.mlp_size = config.integer("intermediate_size", 3072);
  model.class_token = false;
  model.pooling = Pooling::mean;
  if (has_hf_head(config, files, hf_ijepa_family(), kHead, result)) {
    model.num_classes = count_hf_classes(config, files, kHead, result);
  } else {
    result.notes.emplace_back("IJepaModel pools nothing: the features are the mean of the tokens");
  }
  return result;
}

}  // namespace

const Family& hf_ijepa_family() {
  static const Family family{
      .name = "hf_ijepa",
      .model_types = {"ijepa"},
      .classifiers = {"IJepaForImageClassification"},
      .headless = {"IJepaModel"},
      .names = hf_vit_names("ijepa."),
      .read_config = read_config,
  };
  return family;
}

}  // namespace vit::io
