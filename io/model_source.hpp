// What says which network weights belong to: config.json, a name, or the tensors themselves. Internal.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint.hpp"
#include "io/config_reader.hpp"
#include "io/family.hpp"
#include "io/json.hpp"
#include "io/weight_files.hpp"

namespace vit::io {

/// A config.json, a recipe or a preset. Throws Error: model_not_found if there is no such file;
/// config_invalid.
Json read_json_file(const std::filesystem::path& path);

/// A config, and the family that reads it.
struct ModelSource {
  ConfigReader config;
  const Family* family = nullptr;
  std::vector<std::string> notes = {};  ///< for CheckpointInfo::notes
  /// Why the config does not say how pictures are prepared, though it would be the place for it.
  std::optional<Error> recipe_error = {};
};

/// The architecture that options name; else config.json; else what the tensors leave no doubt about. Throws
/// Error: model_not_found (nothing says it), config_invalid, model_unsupported.
ModelSource find_source(const ModelPaths& paths, const WeightFiles& files, const LoadOptions& options);

/// An architecture by its name, without weights. Throws Error(model_unsupported).
ModelSource named_source(const std::string& name, const WeightFiles& files);

}  // namespace vit::io
