// The files of an export, model.onnx and perhaps its data file, which appear together or not at all. Internal
// to export/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "export/graph.hpp"
#include "export/onnx_file.hpp"
#include "vit/file.hpp"

namespace vit::exporter {

/// Every member throws Error(output_unwritable) naming the file and what is wrong with it.
class OnnxTarget {
 public:
  /// Refuses a target that is a symbolic link, and one that exists unless it may be overwritten.
  OnnxTarget(std::filesystem::path target, bool overwrite);

  /// Looks whether the disk has room for so many bytes.
  void require_space(std::int64_t bytes) const;
  /// Writes both beside their final places.
  void write(const Graph& graph, bool external);
  /// Reads what was written. Throws Error as read_onnx.
  OnnxFile read_back() const;
  /// Puts the data file in place, then the model; then removes a data file that only the model before needed:
  /// one that is named after it.
  void commit();

  const std::filesystem::path& model() const { return target_; }
  /// The data file; nothing if the weights are inside.
  const std::optional<std::filesystem::path>& data() const { return data_path_; }

 private:
  std::filesystem::path choose_data_path(const Graph& graph) const;

  std::filesystem::path target_;
  bool overwrite_;
  std::vector<std::filesystem::path> old_data_;  ///< that the model which is there now refers to
  std::optional<AtomicFile> model_;
  std::optional<AtomicFile> data_;
  std::optional<std::filesystem::path> data_path_;
};

}  // namespace vit::exporter
