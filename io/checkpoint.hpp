// Checkpoints as people have them on disk -> config, weights, labels and picture recipe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/labels.hpp"
#include "io/preprocess.hpp"
#include "vit/config.hpp"
#include "vit/error.hpp"
#include "vit/predict.hpp"
#include "vit/weights.hpp"

namespace vit::io {

/// A setting and where it comes from, for `info`.
struct ResolvedValue {
  std::string key;  ///< as the config file calls it
  std::string value;
  std::string source;  ///< "config.json", "default of ViTConfig", "rows of classifier.weight", …
};

/// Everything about a checkpoint but the weights themselves: what was found, what was made of it, and why.
struct CheckpointInfo {
  std::filesystem::path path;  ///< as given to load_checkpoint
  std::string family;          ///< "hf_vit", "hf_dinov2"
  std::string architecture;    ///< the class that wrote it, e.g. "ViTForImageClassification"; may be empty
  ModelConfig config;
  std::int64_t parameters = 0;  ///< that the network uses

  Labels labels;  ///< config.num_classes of them
  ScoreFunction score_function = ScoreFunction::softmax;
  std::string problem_type;  ///< as config.json has it; may be empty

  std::optional<PreprocessConfig> recipe;
  std::optional<Error> recipe_error;  ///< why there is no recipe, and what to do

  std::vector<std::filesystem::path> weight_files;
  std::string stored_dtype;            ///< of the weights used: "F32", "F16", or "BF16, F32" for a mix
  std::vector<std::string> ignored;    ///< tensors in the files that this family never uses
  std::vector<std::string> unmatched;  ///< others outside the network, e.g. a decoder's
  std::vector<ResolvedValue> resolved;
  std::vector<std::string>
      notes;  ///< what a user might want to know: an unknown architecture, labels without names
};

struct Checkpoint {
  CheckpointInfo info;
  Weights weights;  ///< views into mapped files, which weights.storage keeps
};

/// Loads a folder (config.json with model.safetensors, pytorch_model.bin, the index of either and its shards,
/// or one weights file of another name), or a weights file with config.json beside it. Nothing of the weights
/// is converted, and nothing copied but what is compressed, F64 or not contiguous in its file.
///
/// Throws Error:
///   model_not_found    no such path, no config.json, no weights; says what is there instead
///   config_invalid     a damaged config.json or index, a value of the wrong type or that cannot be
///   model_unsupported  a family, an option or a file format that Vitrine does not read; says which it does
///   weights_invalid    a damaged weights file, or one that does not fit the config: every missing,
///   mis-shaped,
///                      wrongly typed and unexpected tensor is named, as the file calls it
/// A missing or unusable picture recipe is no error here: see CheckpointInfo::recipe_error.
Checkpoint load_checkpoint(const std::filesystem::path& path);

/// Only the picture recipe: of a folder that may hold nothing else, of the folder that a weights file lies
/// in, or a JSON file itself. A timm folder's is in its config.json, whatever lies beside that. Throws Error:
/// model_not_found, config_invalid, model_unsupported.
PreprocessConfig load_preprocess_config(const std::filesystem::path& path);

/// Throws unless the model can classify pictures. Error: model_unsupported if it has no classification head,
/// or does not take RGB; recipe_error if it has no picture
/// recipe.
void require_classifier(const CheckpointInfo& info);

/// Several lines of text for people: what was loaded and where each setting comes from.
std::string describe(const CheckpointInfo& info);

}  // namespace vit::io
