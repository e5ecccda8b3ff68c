// A loaded model -> a folder that transformers or timm opens: config.json, model.safetensors and the recipe.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint.hpp"
#include "vit/tensor.hpp"

namespace vit::io {

struct WriteOptions {
  /// Of the weights; nothing: as they are stored, f32 where that is a mix.
  std::optional<DType> dtype;
  /// Hugging Face's form also for what came in timm's.
  bool transformers = false;
  bool overwrite = false;  ///< files of the same names in the folder
};

struct WriteReport {
  std::vector<std::filesystem::path> files;
  std::int64_t tensors = 0;
  DType dtype = DType::f32;
  std::vector<std::string> notes;  ///< what the folder does not say as the source did
};

/// Folders of Hugging Face and timm keep their form, with every tensor and setting, also those that the
/// network does not use; a model whose release has no config.json (torchvision, DINOv2, DINOv3, Google's)
/// becomes a Hugging Face folder. `weights` may be other ones than the checkpoint's files hold, of the same
/// network. The folder is made; its files appear complete or not at all. Throws Error: model_unsupported
/// (neither library has this network in that form), output_unwritable (also where files are in the way),
/// weights_invalid (values beyond f16's range).
WriteReport write_checkpoint(const Checkpoint& checkpoint, const std::filesystem::path& folder,
                             const WriteOptions& options = {});

}  // namespace vit::io
