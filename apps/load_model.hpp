// The model behind -m, whatever it is: a checkpoint (io/) or a model.onnx that Vitrine wrote (export/).
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "apps/common.hpp"
#include "io/checkpoint.hpp"
#include "io/classifier.hpp"
#include "io/picture_session.hpp"

namespace vit::apps {

/// Whether a path is to be read as an ONNX file: by its ending.
bool is_onnx(const std::filesystem::path& path);

/// Throws Error as io::load_checkpoint; of an ONNX file also model_unsupported, saying who wrote it if it was
/// not Vitrine.
io::Checkpoint load_model(const std::filesystem::path& path, const io::LoadOptions& options = {});

/// The model that the options name, for pictures that need no label: loaded, packed and reported as
/// report_model and report_precision do. Throws Error as load_model, io::PictureModel.
std::shared_ptr<const io::PictureModel> load_picture_model(const CommonOptions& options,
                                                           const std::filesystem::path& path);

/// The same of a model with labels. Throws Error as load_model, io::Classifier.
std::shared_ptr<const io::Classifier> load_classifier(const CommonOptions& options,
                                                      const std::filesystem::path& path);

/// All files that the model was read from, or might have been, and --labels.
std::vector<std::filesystem::path> files_read(const CommonOptions& options, const io::CheckpointInfo& info);

/// --force replaces what is there, but never what the model is made of. Throws Error(invalid_argument) if
/// `written` is one of the files that were read.
void refuse_destroying(const std::filesystem::path& written, const std::vector<std::filesystem::path>& read);

/// Only the picture recipe. Throws Error as io::load_preprocess_config.
io::PreprocessConfig load_recipe(const std::filesystem::path& path, const io::LoadOptions& options = {});

}  // namespace vit::apps
