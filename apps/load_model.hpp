// The model behind -m, whatever it is: a checkpoint (io/) or a model.onnx that Vitrine wrote (export/).
#pragma once

#include <filesystem>

#include "io/checkpoint.hpp"

namespace vit::apps {

/// Whether a path is to be read as an ONNX file: by its ending.
bool is_onnx(const std::filesystem::path& path);

/// Throws Error as io::load_checkpoint; of an ONNX file also model_unsupported, saying who wrote it if it was
/// not Vitrine.
io::Checkpoint load_model(const std::filesystem::path& path, const io::LoadOptions& options = {});

/// Only the picture recipe. Throws Error as io::load_preprocess_config.
io::PreprocessConfig load_recipe(const std::filesystem::path& path, const io::LoadOptions& options = {});

}  // namespace vit::apps
