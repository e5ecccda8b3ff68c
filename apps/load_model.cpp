#include "apps/load_model.hpp"

#include <fmt/format.h>

#include <memory>

#include "export/onnx_file.hpp"
#include "export/onnx_import.hpp"
#include "io/model_metadata.hpp"

namespace vit::apps {
namespace {

io::Checkpoint load_onnx(const std::filesystem::path& path) {
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
  return checkpoint;
}

}  // namespace

bool is_onnx(const std::filesystem::path& path) {
  std::error_code ignored;
  return path.extension() == ".onnx" && !std::filesystem::is_directory(path, ignored);
}

io::Checkpoint load_model(const std::filesystem::path& path) {
  return is_onnx(path) ? load_onnx(path) : io::load_checkpoint(path);
}

io::PreprocessConfig load_recipe(const std::filesystem::path& path) {
  if (!is_onnx(path)) return io::load_preprocess_config(path);
  const exporter::OnnxFile file = exporter::read_onnx(path);
  exporter::require_ours(file);
  const io::CheckpointInfo info = io::read_metadata(path, file.graph.metadata);
  if (!info.recipe) throw *info.recipe_error;
  return *info.recipe;
}

}  // namespace vit::apps
