// Dinov2ForImageClassification, Dinov2Model and Dinov2Backbone, as transformers writes them (models/dinov2).
#include "io/family.hpp"
#include "io/hf_dinov2.hpp"

namespace vit::io {
namespace {

FamilyConfig read_config(ConfigReader& config, const WeightFiles& files) {
  config.set_defaults_source("Dinov2Config");
  return read_dinov2(config, files, hf_dinov2_family(), {14, 14});
}

}  // namespace

const Family& hf_dinov2_family() {
  static const Family family{
      .name = "hf_dinov2",
      .model_types = {"dinov2"},
      .classifiers = {"Dinov2ForImageClassification"},
      .headless = {"Dinov2Model", "Dinov2Backbone"},
      .names = dinov2_names("dinov2."),
      .read_config = read_config,
  };
  return family;
}

}  // namespace vit::io
