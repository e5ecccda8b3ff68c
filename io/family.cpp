#include "io/family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/timm_common.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

bool contains(const std::vector<std::string_view>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool has_architecture(const Family& family, std::string_view name) {
  return std::any_of(family.architectures.begin(), family.architectures.end(),
                     [&](const NamedArchitecture& row) { return row.name == name; });
}

std::string supported() {
  std::string text;
  for (const Family* family : families()) {
    for (const std::string_view model_type : family->model_types)
      text += fmt::format("{}{}", text.empty() ? "" : ", ", model_type);
  }
  return text + "; and timm folders (\"architecture\")";
}

}  // namespace

std::span<const Family* const> families() {
  static const std::array list{&hf_vit_family(),         &hf_dinov2_family(),   &hf_dinov2_registers_family(),
                               &hf_dinov3_family(),      &hf_beit_family(),     &hf_vit_msn_family(),
                               &hf_deit_family(),        &hf_ijepa_family(),    &hf_clip_family(),
                               &hf_siglip_family(),      &torchvision_family(), &dinov3_release_family(),
                               &dinov2_release_family(), &google_vit_family(),  &timm_vit_family(),
                               &timm_beit_family(),      &timm_eva_family()};
  return list;
}

const Family& select_family(const ConfigReader& config, const WeightFiles& files) {
  if (const auto model_type = config.find_text("model_type")) {
    for (const Family* family : families()) {
      if (contains(family->model_types, *model_type)) return *family;
    }
    config.fail(
        ErrorCode::model_unsupported,
        fmt::format("the model_type \"{}\" is not supported; supported: {}", *model_type, supported()));
  }
  const std::vector<std::string> architectures = config.texts("architectures");
  for (const Family* family : families()) {
    for (const std::string& architecture : architectures) {
      if (contains(family->classifiers, architecture) || contains(family->headless, architecture))
        return *family;
    }
  }
  if (const auto name = config.find_text("architecture")) {
    for (const Family* family : families()) {
      if (has_architecture(*family, *name)) return *family;
    }
    return select_timm_family(config);
  }
  if (!architectures.empty()) {
    config.fail(ErrorCode::model_unsupported,
                fmt::format("the architecture \"{}\" is not supported; supported model_type: {}",
                            architectures.front(), supported()));
  }
  for (const Family* family : families()) {
    if (family->recognises != nullptr && family->recognises(files)) return *family;
  }
  config.fail(
      ErrorCode::config_invalid,
      fmt::format("neither \"model_type\" nor \"architectures\" says which network this is; supported "
                  "model_type: {}",
                  supported()));
}

}  // namespace vit::io
