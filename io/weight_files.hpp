// Finds a model's files and opens its weights: one file, or an index and its shards. Internal.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/tensor_file.hpp"

namespace vit::io {

/// What a path given by a user means.
struct ModelPaths {
  std::filesystem::path config;   ///< empty if there is no config.json
  std::filesystem::path weights;  ///< a file of tensors, or the index of several
  bool sharded = false;
};

/// A folder, a weights file, an index, or a config.json. Throws Error: model_not_found (also for a
/// config.json that is a link to nothing), model_unsupported.
ModelPaths locate_model(const std::filesystem::path& path);

/// The path itself where there is one; else, of a hub id, the model's folder in the cache that the
/// environment names (io/hub_settings.hpp). Throws Error: model_not_found, saying what was looked for;
/// invalid_argument (a variable, or what follows "hf-hub:").
std::filesystem::path resolve_model(const std::filesystem::path& path);

/// The names in a folder, sorted; none where it cannot be read.
std::vector<std::string> names_in(const std::filesystem::path& folder);
/// Names as a message lists them, the first ten.
std::string list_of(const std::vector<std::string>& names);

/// Of the names in one folder the one whose file has the weights, or an index of them; several, sorted, where
/// that is anybody's guess. Throws Error: model_not_found, model_unsupported, calling the folder `folder`.
std::vector<std::string> weights_among(const std::string& folder, const std::vector<std::string>& names);
/// Whether a weights file is an index of shards that lie beside it, by its name.
bool is_index(std::string_view name);
/// The files that an index names, each once: bare names. Throws Error: model_not_found, config_invalid.
std::vector<std::string> shards_of(const std::filesystem::path& index);

/// What there is in place of a config.json, for a message.
[[noreturn]] void fail_without_config(const ModelPaths& paths);

/// The folder that the other files of a model lie in.
std::filesystem::path model_folder(const std::filesystem::path& path);

/// All tensors of a checkpoint, wherever they lie. Shared, since the network's views point into it.
class WeightFiles {
 public:
  struct Entry {
    const StoredTensor* tensor = nullptr;
    const TensorFile* file = nullptr;
  };

  /// Of a network without weights.
  WeightFiles() = default;
  /// Throws Error: model_not_found, config_invalid (the index), weights_invalid, model_unsupported (a
  /// format).
  explicit WeightFiles(const ModelPaths& paths);
  WeightFiles(const WeightFiles&) = delete;
  WeightFiles& operator=(const WeightFiles&) = delete;

  /// By the name without `wrapper()`. nullptr if there is none.
  const StoredTensor* find(std::string_view name) const;
  /// By the name as it is in the file.
  const std::map<std::string, Entry, std::less<>>& tensors() const { return tensors_; }

  /// What every name begins with because a training tool wrapped the model ("module.", "_orig_mod."); may be
  /// empty.
  const std::string& wrapper() const { return wrapper_; }
  /// Key of the state dict in a file that holds more than that ("model", "state_dict_ema"); may be empty.
  std::string state_dict() const;
  /// Tensors that lie in a shard though the index does not say so, as "NAME (in SHARD)".
  const std::vector<std::string>& not_in_index() const { return not_in_index_; }
  std::vector<std::filesystem::path> paths() const;
  /// See MappedFile.
  void release_pages() const;
  /// Of a part of one file; memory that is in none of them is left alone.
  void release_pages(std::span<const std::byte> part) const;
  /// Choices that were made inside of the files.
  std::vector<FileNote> notes() const;
  /// What messages call the weights: the file, or the index.
  const std::filesystem::path& name() const { return name_; }

 private:
  void open_shards(const std::filesystem::path& index);
  void find_wrapper();

  std::filesystem::path name_;
  std::vector<std::unique_ptr<TensorFile>> files_;
  std::map<std::string, Entry, std::less<>> tensors_;
  std::vector<std::string> not_in_index_;
  std::string wrapper_;
};

}  // namespace vit::io
