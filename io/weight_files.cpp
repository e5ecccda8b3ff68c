#include "io/weight_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>

#include "io/json.hpp"
#include "vit/error.hpp"
#include "vit/file.hpp"

namespace vit::io {
namespace {

constexpr FileErrors kShardErrors{ErrorCode::model_not_found, ErrorCode::weights_invalid,
                                  ErrorCode::weights_invalid};
constexpr std::size_t kMaxIndexBytes = std::size_t{16} << 20;
constexpr std::array<std::string_view, 5> kWrappers{"module.", "_orig_mod.", "model.", "opt/target/",
                                                    "params/"};

/// Tensor -> shard. A shard is a bare name beside the index: an index never leads out of its folder.
std::map<std::string, std::string> read_index(const std::filesystem::path& path) {
  constexpr FileErrors kErrors{ErrorCode::model_not_found, ErrorCode::config_invalid,
                               ErrorCode::config_invalid};
  const std::string name = path.string();
  const std::vector<std::byte> bytes = read_file(path, kMaxIndexBytes, kErrors);
  const JsonSource source(name);
  const Json index = parse_json_object(
      as_text(bytes), source, {.max_bytes = kMaxIndexBytes, .duplicate_keys = DuplicateKeys::reject});
  const Json& weight_map = get_object(index, "weight_map", source);
  std::map<std::string, std::string> shards;
  for (const auto& [tensor, shard] : weight_map.items()) {
    const std::string key = fmt::format("weight_map[{}]", tensor);
    if (!shard.is_string()) throw_unexpected(source, key, "a file name", shard);
    const auto& file = shard.get_ref<const std::string&>();
    const bool bare = !file.empty() && file != "." && file != ".." && file.find('/') == std::string::npos &&
                      file.find('\\') == std::string::npos && file.find('\0') == std::string::npos;
    if (!bare) throw_unexpected(source, key, "the name of a file beside the index", shard);
    shards.emplace(tensor, file);
  }
  if (shards.empty()) throw_unexpected(source, "weight_map", "at least one tensor", weight_map);
  return shards;
}

}  // namespace

std::vector<std::string> shards_of(const std::filesystem::path& index) {
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : read_index(index)) shards.insert(shard);
  return {shards.begin(), shards.end()};
}

WeightFiles::WeightFiles(const ModelPaths& paths) : name_(paths.weights) {
  if (paths.sharded) {
    open_shards(paths.weights);
  } else {
    files_.push_back(std::make_unique<TensorFile>(paths.weights, kShardErrors));
    for (const StoredTensor& tensor : files_.back()->tensors()) {
      tensors_.emplace(tensor.name, Entry{&tensor, files_.back().get()});
    }
  }
  find_wrapper();
}

void WeightFiles::open_shards(const std::filesystem::path& index) {
  const auto shards = read_index(index);
  std::map<std::string, const TensorFile*> opened;
  std::vector<std::string> absent;
  for (const auto& [name, shard] : shards) {
    const TensorFile*& file = opened[shard];
    if (file == nullptr) {
      files_.push_back(std::make_unique<TensorFile>(index.parent_path() / shard, kShardErrors));
      file = files_.back().get();
    }
    if (const StoredTensor* tensor = file->find(name)) {
      tensors_.emplace(name, Entry{tensor, file});
    } else {
      absent.push_back(fmt::format("{} (in {})", name, shard));
    }
  }
  if (!absent.empty()) {
    const std::size_t count = absent.size();
    absent.resize(std::min<std::size_t>(count, 20));
    throw Error(ErrorCode::weights_invalid,
                fmt::format("{}: {} of its tensors are not where it says: {}{}", index.string(), count,
                            fmt::join(absent, ", "), count > absent.size() ? ", …" : ""));
  }
  for (const auto& [shard, file] : opened) {
    for (const StoredTensor& tensor : file->tensors()) {
      const auto at = shards.find(tensor.name);
      if (at == shards.end() || at->second != shard)
        not_in_index_.push_back(fmt::format("{} (in {})", tensor.name, shard));
    }
  }
}

void WeightFiles::find_wrapper() {
  for (bool found = !tensors_.empty(); found;) {
    found = false;
    for (const std::string_view wrapper : kWrappers) {
      const std::string longer = wrapper_ + std::string(wrapper);
      // The map is sorted: if the first and the last name begin with it, all do.
      if (tensors_.begin()->first.starts_with(longer) && tensors_.rbegin()->first.starts_with(longer)) {
        wrapper_ = longer;
        found = true;
      }
    }
  }
}

const StoredTensor* WeightFiles::find(std::string_view name) const {
  const auto at = wrapper_.empty() ? tensors_.find(name) : tensors_.find(wrapper_ + std::string(name));
  return at == tensors_.end() ? nullptr : at->second.tensor;
}

std::vector<std::filesystem::path> WeightFiles::paths() const {
  std::vector<std::filesystem::path> paths;
  for (const auto& file : files_) paths.push_back(file->path());
  return paths;
}

std::vector<FileNote> WeightFiles::notes() const {
  std::vector<FileNote> notes;
  for (const auto& file : files_) notes.insert(notes.end(), file->notes().begin(), file->notes().end());
  return notes;
}

std::string WeightFiles::state_dict() const {
  for (const FileNote& note : notes()) {
    if (note.key == "state dict") return note.value;
  }
  return "";
}

void WeightFiles::release_pages() const {
  for (const auto& file : files_) file->release_pages();
}

void WeightFiles::release_pages(std::span<const std::byte> part) const {
  for (const auto& file : files_) file->release_pages(part);
}

}  // namespace vit::io
