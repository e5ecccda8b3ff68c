// What a model.onnx carries beside its graph: config, labels and picture recipe as text, for others and for
// the way back.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/checkpoint.hpp"
#include "vit/weights.hpp"

namespace vit::io {

/// Keys and values, unique keys, in the order in which they are written.
using ModelMetadata = std::vector<std::pair<std::string, std::string>>;

/// What travels with the network. Keys as others look for them (names, task, imgsz, stride, channels of
/// Ultralytics; id2label and preprocessor_config of Hugging Face), and our own that begin with "vit.".
/// `config`: of the network in the file, which may differ from info.config. Contains no paths and no dates.
ModelMetadata write_metadata(const CheckpointInfo& info, const ModelConfig& config);

/// The way back. `metadata` of a file called `path`. Throws Error(config_invalid) naming the key that is
/// missing or makes no sense.
CheckpointInfo read_metadata(const std::filesystem::path& path, const ModelMetadata& metadata);

/// The recipe as a Hugging Face preprocessor_config.json that means the same; nothing where there is no such
/// file.
std::optional<std::string> to_preprocessor_config(const PreprocessConfig& recipe);

/// A Hugging Face config.json with what a user of the ONNX file looks for: sizes, labels, problem type.
std::string to_config_json(const CheckpointInfo& info, const ModelConfig& config);

/// Whether text can be a value: metadata is UTF-8.
bool is_utf8(std::string_view text);

/// Replaces the labels by the lines of a text file. Throws Error: invalid_argument (another number of lines
/// than classes, a line that is empty or not UTF-8; names the file), or that of reading it.
Labels read_label_file(const std::filesystem::path& path, std::int64_t classes);

}  // namespace vit::io
