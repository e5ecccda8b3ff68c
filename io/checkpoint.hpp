// Checkpoints as people have them on disk -> config, weights, labels and picture recipe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/labels.hpp"
#include "io/preprocess.hpp"
#include "vit/config.hpp"
#include "vit/error.hpp"
#include "vit/precision.hpp"
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
  std::filesystem::path path;  ///< as given to load_checkpoint; of a hub id the folder in the cache
  std::string family;          ///< "hf_vit", "hf_dinov2"
  std::string architecture;    ///< the class that wrote it, e.g. "ViTForImageClassification"; may be empty
  ModelConfig config;
  std::int64_t parameters = 0;  ///< that the network uses

  Labels labels;  ///< config.num_classes of them
  ScoreFunction score_function = ScoreFunction::softmax;
  std::string problem_type;  ///< as config.json has it; may be empty

  std::optional<PreprocessConfig> recipe;
  bool recipe_assumed = false;  ///< no file says it: it is what the network's authors use
  std::optional<Error> recipe_error;  ///< why there is no recipe, and what to do

  std::vector<TensorSpec> tensors;  ///< of the network, as the files have them (of a model.onnx: none)
  std::vector<std::filesystem::path> weight_files;
  std::string stored_dtype;  ///< of the weights used: "F32", "F16", or "BF16, F32" for a mix
  /// What the network is computed in unless somebody asks for another: int8 of weights that are stored as
  /// 8-bit integers (I8), else fp32.
  Precision precision = Precision::fp32;
  std::vector<std::string> ignored;    ///< tensors in the files that this family never uses
  std::vector<std::string> unmatched;  ///< others outside the network, e.g. a decoder's
  std::vector<ResolvedValue> resolved;
  std::vector<std::string>
      notes;  ///< what a user might want to know: an unknown architecture, labels without names
};

/// What a user says besides the path.
struct LoadOptions {
  /// An architecture by name, NAME or NAME.TAG of timm, or a name of torchvision, DINOv2 or DINOv3: it is
  /// read in place of config.json and gives the picture recipe. The number of classes and the size of the
  /// position table are those of the weights.
  std::string architecture = {};
  std::optional<Size2> image_size = {};  ///< pixels of the pictures: the recipe is scaled to it
  /// Pixels of a patch: the patch embedding is resized (FlexiViT's way). The position table keeps its grid.
  std::optional<Size2> patch_size = {};
  std::filesystem::path labels = {};  ///< text file with a line for each class, in place of the model's names
};

struct CheckpointSource;

struct Checkpoint {
  CheckpointInfo info;
  Weights weights;  ///< views into mapped files, which weights.storage keeps
  /// What write_checkpoint keeps of the files (io/checkpoint_source.hpp); null for a model.onnx.
  std::shared_ptr<const CheckpointSource> source = nullptr;
};

/// Loads a folder (config.json with model.safetensors, pytorch_model.bin, the index of either and its shards,
/// or one weights file of another name), or a weights file with config.json beside it, or, where there is no
/// such path, a model that the Hugging Face cache has, by its name on the hub: org/name, org/name@revision
/// (io/hub_id.hpp; nothing is downloaded). Weights are F32, F16
/// or BF16, or what write_checkpoint makes of them in 8 bits. Without a config.json the network is the one
/// that options.architecture names, or that the tensors' names and shapes leave no doubt about. Of the
/// weights nothing is copied but what is compressed, F64, or not laid out in its file as in the network.
///
/// Throws Error:
///   model_not_found    no such path, no config.json, no weights; says what is there instead
///   config_invalid     a damaged config.json or index, a value of the wrong type or that cannot be
///   model_unsupported  a family, an option or a file format that Vitrine does not read; says which it does
///   weights_invalid    a damaged weights file, or one that does not fit the config: every missing,
///   mis-shaped,
///                      wrongly typed and unexpected tensor is named, as the file calls it
/// A missing or unusable picture recipe is no error here: see CheckpointInfo::recipe_error.
Checkpoint load_checkpoint(const std::filesystem::path& name, const LoadOptions& options = {});

/// What weights of an architecture would be, without any: `name` as LoadOptions::architecture; the other
/// options as for weights. Throws Error: model_unsupported; invalid_argument (options that do not fit).
CheckpointInfo describe_architecture(const std::string& name, const LoadOptions& options = {});

/// Only the picture recipe: of a folder that may hold nothing else, of the folder that a weights file lies
/// in, or a JSON file itself; or of a model in the cache. A timm folder's is in its config.json, whatever
/// lies beside that. Throws Error: model_not_found, config_invalid, model_unsupported.
PreprocessConfig load_preprocess_config(const std::filesystem::path& name, const LoadOptions& options = {});

/// Throws unless pictures can be given to the model. Error: model_unsupported if it does not take RGB;
/// recipe_error if it has no picture recipe.
void require_pictures(const CheckpointInfo& info);

/// Throws unless the model can classify pictures. Error: model_unsupported if it has no classification head,
/// and those of require_pictures.
void require_classifier(const CheckpointInfo& info);

/// Several lines of text for people: what was loaded and where each setting comes from.
std::string describe(const CheckpointInfo& info);

}  // namespace vit::io
