// Dinov2WithRegistersForImageClassification and Dinov2WithRegistersModel, as transformers writes them
// (models/dinov2_with_registers).
#include "io/family.hpp"
#include "io/hf_dinov2.hpp"

namespace vit::io {
namespace {

FamilyConfig read_config(ConfigReader& config, const WeightFiles& files) {
  config.set_defaults_source("Dinov2WithRegistersConfig");
  FamilyConfig result = read_dinov2(config, files, hf_dinov2_registers_family(), {16, 16});
  result.model.num_registers = config.integer("num_register_tokens", 4);
  result.model.position_embedding = PositionEmbedding::class_and_patches;
  // Unlike Dinov2Model, which has the same name for the function that does it.
  result.model.position_resampling = PositionResampling::bicubic_antialias;
  return result;
}

NameTable names() {
  NameTable table = dinov2_names("dinov2_with_registers.");
  table.rules.push_back({"reg_token", {{"{base}embeddings.register_tokens"}}});
  return table;
}

}  // namespace

const Family& hf_dinov2_registers_family() {
  static const Family family{
      .name = "hf_dinov2_with_registers",
      .model_types = {"dinov2_with_registers"},
      .classifiers = {"Dinov2WithRegistersForImageClassification"},
      .headless = {"Dinov2WithRegistersModel", "Dinov2WithRegistersBackbone"},
      .names = names(),
      .read_config = read_config,
  };
  return family;
}

}  // namespace vit::io
