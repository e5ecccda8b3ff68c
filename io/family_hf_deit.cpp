// DeiTForImageClassification, DeiTForImageClassificationWithTeacher and DeiTModel, as transformers writes
// them (models/deit). All have the distillation token; only the second one reads it.
#include <algorithm>

#include "io/family.hpp"
#include "io/hf_common.hpp"

namespace vit::io {
namespace {

constexpr std::string_view kBase = "deit.";
constexpr std::string_view kHead = "classifier";
constexpr std::string_view kClassHead = "cls_classifier";
constexpr std::string_view kWithTeacher = "DeiTForImageClassificationWithTeacher";

const NameTable& names_with_teacher() {
  static const NameTable table = [] {
    NameTable names = hf_vit_names(kBase);
    for (NameRule& rule : names.rules) {
      if (rule.canonical == "head") rule.spellings = {{kClassHead}};
    }
    names.rules.push_back({"head_dist", {{"distillation_classifier"}}});
    names.network.insert(names.network.end(), {"cls_classifier.", "distillation_classifier."});
    return names;
  }();
  return table;
}

/// By its class; where the config names none, by its tensors.
bool has_teacher(const ConfigReader& config, const WeightFiles& files) {
  const std::vector<std::string> architectures = config.texts("architectures");
  if (architectures.empty()) return files.find("distillation_classifier.weight") != nullptr;
  return std::find(architectures.begin(), architectures.end(), kWithTeacher) != architectures.end();
}

FamilyConfig read_config(ConfigReader& config, const WeightFiles& files) {
  config.set_defaults_source("DeiTConfig");
  FamilyConfig result;
  ModelConfig& model = result.model;
  read_hf_encoder(config, {.patch_size = {16, 16}, .layer_norm_eps = 1e-12}, model);
  model.mlp_size = config.integer("intermediate_size", 3072);
  model.pooling = Pooling::cls;
  model.distillation = Distillation::token;
  const std::string_view head = has_teacher(config, files) ? kClassHead : kHead;
  if (!has_hf_head(config, files, hf_deit_family(), head, result)) {
    read_hf_pooler(config, files, kBase, result);
    return result;
  }
  model.num_classes = count_hf_classes(config, files, head, result);
  if (head == kClassHead) {
    model.distillation = Distillation::head;
    result.names = names_with_teacher();
  }
  return result;
}

}  // namespace

const Family& hf_deit_family() {
  static const Family family{
      .name = "hf_deit",
      .model_types = {"deit"},
      .classifiers = {"DeiTForImageClassification", kWithTeacher},
      .headless = {"DeiTModel", "DeiTForMaskedImageModeling"},
      .names = hf_vit_names(kBase),
      .read_config = read_config,
  };
  return family;
}

}  // namespace vit::io
