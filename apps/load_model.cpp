#include "apps/load_model.hpp"

#include <fmt/format.h>

#include <memory>
#include <string_view>

#include "export/onnx_file.hpp"
#include "export/onnx_import.hpp"
#include "io/model_metadata.hpp"

namespace vit::apps {
namespace {

[[noreturn]] void refuse_for_onnx(std::string_view option) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: a model.onnx has all of that written in it; only checkpoints take the option",
                          option));
}

/// The graph says what the network is; pictures may still have another size, and labels other words.
void apply(const io::LoadOptions& options, io::CheckpointInfo& info) {
  if (!options.architecture.empty()) refuse_for_onnx("--arch");
  if (options.patch_size) refuse_for_onnx("--patch-size");
  if (options.image_size) {
    info.config.validate_image(*options.image_size);
    if (info.recipe) info.recipe = io::resized(*info.recipe, *options.image_size);
  }
  if (!options.labels.empty()) info.labels = io::read_label_file(options.labels, info.config.num_classes);
}

io::Checkpoint load_onnx(const std::filesystem::path& path, const io::LoadOptions& options) {
  const auto file = std::make_shared<const exporter::OnnxFile>(exporter::read_onnx(path));
  exporter::require_ours(*file);
  io::Checkpoint checkpoint{io::read_metadata(path, file->graph.metadata), {}};
  io::CheckpointInfo& info = checkpoint.info;
  checkpoint.weights = exporter::read_weights(file, info.config);
  info.weight_files = file->data_files;
  info.weight_files.insert(info.weight_files.begin(), path);
  const std::string* storage = file->graph.find_metadata("vit.weights");
  info.stored_dtype = storage != nullptr ? *storage : "";
  info.resolved.push_back({"file", file->description, path.filename().string()});
  if (storage != nullptr && *storage == "int8-qdq") {
    info.notes.push_back(
        "the file multiplies 8-bit integers in other runtimes; here its weights are used, and activations "
        "are not rounded");
  }
  apply(options, info);
  return checkpoint;
}

template <class PackedModel>
std::shared_ptr<const PackedModel> load_and_report(const CommonOptions& options,
                                                   const std::filesystem::path& path) {
  auto model =
      std::make_shared<PackedModel>(load_model(path, load_options(options)),
                                    ModelOptions{.precision = options.precision, .threads = options.threads});
  report_model(options, model->info());
  report_precision(options, *model->model());
  return model;
}

}  // namespace

bool is_onnx(const std::filesystem::path& path) {
  std::error_code ignored;
  return path.extension() == ".onnx" && !std::filesystem::is_directory(path, ignored);
}

io::Checkpoint load_model(const std::filesystem::path& path, const io::LoadOptions& options) {
  return is_onnx(path) ? load_onnx(path, options) : io::load_checkpoint(path, options);
}

std::shared_ptr<const io::PictureModel> load_picture_model(const CommonOptions& options,
                                                           const std::filesystem::path& path) {
  return load_and_report<io::PictureModel>(options, path);
}

std::shared_ptr<const io::Classifier> load_classifier(const CommonOptions& options,
                                                      const std::filesystem::path& path) {
  return load_and_report<io::Classifier>(options, path);
}

std::vector<std::filesystem::path> files_read(const CommonOptions& options, const io::CheckpointInfo& info) {
  std::vector<std::filesystem::path> files = info.weight_files;
  files.emplace_back(options.labels);
  if (is_onnx(info.path)) return files;
  std::error_code ignored;
  const std::filesystem::path folder =
      std::filesystem::is_directory(info.path, ignored) ? info.path : info.path.parent_path();
  for (const char* name :
       {"config.json", "preprocessor_config.json", "processor_config.json", "model.safetensors.index.json"})
    files.push_back(folder / name);
  return files;
}

void refuse_destroying(const std::filesystem::path& written, const std::vector<std::filesystem::path>& read) {
  std::error_code ignored;
  for (const std::filesystem::path& path : read) {
    if (std::filesystem::equivalent(written, path, ignored)) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("{} is also read: it would be destroyed; write to another folder", written.string()));
    }
  }
}

io::PreprocessConfig load_recipe(const std::filesystem::path& path, const io::LoadOptions& options) {
  if (!is_onnx(path)) return io::load_preprocess_config(path, options);
  const exporter::OnnxFile file = exporter::read_onnx(path);
  exporter::require_ours(file);
  io::CheckpointInfo info = io::read_metadata(path, file.graph.metadata);
  apply(options, info);
  if (!info.recipe) throw *info.recipe_error;
  return *info.recipe;
}

}  // namespace vit::apps
