// ViTMSNForImageClassification and ViTMSNModel, as transformers writes them (models/vit_msn): ViT with other
// defaults. transformers 5 saves blocks without the "vit." that everything else of a classifier has.
#include "io/family.hpp"
#include "io/hf_common.hpp"

namespace vit::io {
namespace {

constexpr std::string_view kHead = "classifier";

FamilyConfig read_config(ConfigReader& config, const WeightFiles& files) {
  config.set_defaults_source("ViTMSNConfig");
  FamilyConfig result;
  ModelConfig& model = result.model;
  read_hf_encoder(config, {.patch_size = {16, 16}, .layer_norm_eps = 1e-6}, model);
  model.mlp_size = config.integer("intermediate_size", 3072);
  model.pooling = Pooling::cls;
  if (has_hf_head(config, files, hf_vit_msn_family(), kHead, result))
    model.num_classes = count_hf_classes(config, files, kHead, result);
  return result;
}

}  // namespace

const Family& hf_vit_msn_family() {
  static const Family family{
      .name = "hf_vit_msn",
      .model_types = {"vit_msn"},
      .classifiers = {"ViTMSNForImageClassification"},
      .headless = {"ViTMSNModel"},
      .names = hf_vit_names("vit."),
      .read_config = read_config,
  };
  return family;
}

}  // namespace vit::io
