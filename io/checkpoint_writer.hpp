// A loaded model -> a folder that transformers or timm opens: config.json, model.safetensors and the recipe.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint.hpp"
#include "vit/tensor.hpp"

namespace vit::io {

/// How the matrices of the blocks are stored.
enum class MatrixStorage {
  numbers,  ///< as the other tensors; 8-bit integers as the numbers that they stand for
  int8,     ///< integers with a scale for each row, the very ones that Precision::int8 computes with
};

struct WriteOptions {
  /// Of the weights; nothing: as they are stored, f32 where that is a mix.
  std::optional<DType> dtype;
  /// Hugging Face's form also for what came in timm's.
  bool transformers = false;
  bool overwrite = false;  ///< files of the same names in the folder
  MatrixStorage matrices = MatrixStorage::numbers;
  std::string producer = {};  ///< program and version, for the metadata of a file of 8-bit weights
};

struct WriteReport {
  std::vector<std::filesystem::path> files;
  std::int64_t tensors = 0;
  std::int64_t rounded = 0;  ///< of them, matrices of 8-bit integers
  DType dtype = DType::f32;
  std::vector<std::string> notes;  ///< what the folder does not say as the source did
};

/// Folders of Hugging Face and timm keep their form, with every tensor and setting, also those that the
/// network does not use; a model whose release has no config.json (torchvision, DINOv2, DINOv3, Google's)
/// becomes a Hugging Face folder. `weights` may be other ones than the checkpoint's files hold, of the same
/// network. The folder is made; its files appear complete or not at all. Throws Error: model_unsupported
/// (neither library has this network in that form), output_unwritable (also where files are in the way),
/// weights_invalid (values beyond f16's range, or NaN and infinity where integers are wanted),
/// model_unsupported (8-bit weights of what has 8-bit weights already).
WriteReport write_checkpoint(const Checkpoint& checkpoint, const std::filesystem::path& folder,
                             const WriteOptions& options = {});

}  // namespace vit::io
