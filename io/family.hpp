// A family of checkpoints: how its config.json and its tensors are to be read. Internal.
//
// To add one: write io/family_NAME.cpp with one Family and list it in io/family.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/config_reader.hpp"
#include "io/name_map.hpp"
#include "io/weight_files.hpp"
#include "vit/config.hpp"

namespace vit::io {

/// What config.json and the tensors at hand say together.
struct FamilyConfig {
  ModelConfig model;
  std::string architecture;        ///< may be empty
  std::vector<std::string> notes;  ///< for CheckpointInfo::notes
  /// Names of classes, by index, where the family has a place of its own for them; otherwise id2label's.
  std::optional<std::map<std::int64_t, std::string>> labels;
  /// In place of Family::names, for a family that calls tensors by more than one scheme.
  std::optional<NameTable> names;
};

/// An architecture that people know by name, for weights without a config.json. Rows of JSON objects.
struct NamedArchitecture {
  std::string_view name;
  std::string_view model_args;
  std::string_view preset = {};  ///< how pictures are prepared (io/preset_recipe.hpp); empty: the family's
};

struct Family {
  std::string_view name;  ///< for people: "hf_vit"
  /// Values of model_type in config.json; none for a family that is known by other means.
  std::vector<std::string_view> model_types;
  /// Classes of the reference that write such checkpoints, with and without a classification head.
  std::vector<std::string_view> classifiers;
  std::vector<std::string_view> headless;
  NameTable names;
  /// Reads the config, with the defaults of the family's configuration class. Throws Error: config_invalid,
  /// model_unsupported. The tensors decide what the config leaves open (a head, a pooler); nothing is checked
  /// here.
  FamilyConfig (*read_config)(ConfigReader& config, const WeightFiles& files);

  /// Of a family whose releases have no config.json; others leave the rest empty.
  std::span<const NamedArchitecture> architectures = {};
  std::string_view preset = {};  ///< see NamedArchitecture
  /// Whether weights without a config.json are of this family, by the names of their tensors.
  bool (*recognises)(const WeightFiles& files) = nullptr;
};

/// The names of this config's tensors: its own, else the family's.
inline const NameTable& names_of(const FamilyConfig& config, const Family& family) {
  return config.names ? *config.names : family.names;
}

const Family& hf_vit_family();
const Family& hf_dinov2_family();
const Family& hf_dinov2_registers_family();
const Family& hf_dinov3_family();
const Family& hf_beit_family();
const Family& hf_vit_msn_family();
const Family& hf_deit_family();
const Family& hf_ijepa_family();
const Family& hf_clip_family();
const Family& hf_siglip_family();
const Family& timm_vit_family();
const Family& timm_beit_family();
const Family& timm_eva_family();
const Family& torchvision_family();
const Family& dinov2_release_family();
const Family& dinov3_release_family();
const Family& google_vit_family();

/// The names of google_vit_family(), which networks of timm's may have in their files, too.
NameTable google_vit_names();

/// All of them, in the order in which they are asked.
std::span<const Family* const> families();

/// The family of a config.json, by what it says and, where that is nothing, by the tensors. Throws Error:
/// model_unsupported, naming what it is and what is supported; config_invalid if it does not say what it is.
const Family& select_family(const ConfigReader& config, const WeightFiles& files);

}  // namespace vit::io
