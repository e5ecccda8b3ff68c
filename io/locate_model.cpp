#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <system_error>

#include "io/hub_cache.hpp"
#include "io/hub_id.hpp"
#include "io/hub_settings.hpp"
#include "io/weight_files.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfig = "config.json";
constexpr std::string_view kWeights = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";
constexpr std::string_view kIndexEnding = ".index.json";
constexpr std::string_view kConvert =
    "convert it in Python: AutoModelForImageClassification.from_pretrained(FOLDER)"
    ".save_pretrained(NEW_FOLDER, safe_serialization=True)";

/// The names that the weights have in a folder, the best first. An index: there are shards beside it.
constexpr std::array<std::string_view, 4> kWeightNames{kWeights, kIndex, "pytorch_model.bin",
                                                       "pytorch_model.bin.index.json"};

/// Endings of weights with other names. What a file is its bytes say, not its name: io/tensor_file.hpp.
constexpr std::array<std::string_view, 6> kWeightEndings{".safetensors", ".pth",  ".pt",
                                                         ".bin",         ".ckpt", ".npz"};

/// Endings of weights that Vitrine does not read.
constexpr std::array<std::string_view, 5> kOtherFormats{".h5", ".onnx", ".gguf", ".keras", ".msgpack"};

/// What training leaves beside them.
constexpr std::array<std::string_view, 4> kNoWeights{"training_args.bin", "optimizer.", "scheduler.",
                                                     "rng_state"};

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// A link of the Hugging Face cache whose download did not finish.
bool is_dangling_link(const fs::path& path) {
  std::error_code ignored;
  return fs::is_symlink(path, ignored) && !is_there(path);
}

[[noreturn]] void not_found(std::string message) {
  throw Error(ErrorCode::model_not_found, message);
}

[[noreturn]] void fail_dangling(const fs::path& path) {
  std::error_code ignored;
  not_found(fmt::format("{}: is a link to {}, which does not exist; the download may be incomplete",
                        path.string(), fs::read_symlink(path, ignored).string()));
}

template <std::size_t N>
bool has_ending(const std::string& name, const std::array<std::string_view, N>& endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view e) { return name.ends_with(e); });
}

[[noreturn]] void fail_other_format(const std::string& file) {
  throw Error(ErrorCode::model_unsupported,
              fmt::format("{}: Vitrine does not read this format, expected {}, PyTorch's or NumPy's .npz; {}",
                          file, kWeights, kConvert));
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void fail_without_weights(const std::string& folder, const std::vector<std::string>& names) {
  const auto other = std::find_if(names.begin(), names.end(),
                                  [](const std::string& name) { return has_ending(name, kOtherFormats); });
  if (other != names.end() && other->ends_with(".onnx")) {
    not_found(fmt::format("{}: no weights in it but {}; if vitrine export wrote that, pass its path", folder,
                          *other));
  }
  if (other != names.end()) fail_other_format(fmt::format("{}/{}", folder, *other));
  not_found(fmt::format("{}: {}no weights in it, expected {}, {}, or one .pth or .npz file; found {}", folder,
                        contains(names, kConfig) ? "" : fmt::format("no {} and ", kConfig), kWeights, kIndex,
                        list_of(names)));
}

/// Whether it may have weights though it has none of the usual names.
bool may_be_weights(const std::string& name) {
  const bool leftover = std::any_of(kNoWeights.begin(), kNoWeights.end(),
                                    [&](std::string_view begin) { return name.starts_with(begin); });
  return !leftover && has_ending(name, kWeightEndings);
}

fs::path config_in(const fs::path& folder) {
  const fs::path config = folder / kConfig;
  if (is_dangling_link(config)) fail_dangling(config);
  return is_there(config) ? config : fs::path();
}

ModelPaths locate_in_folder(const fs::path& folder) {
  const fs::path config = config_in(folder);
  const std::vector<std::string> weights = weights_among(folder.string(), names_in(folder));
  if (weights.size() > 1) {
    not_found(fmt::format("{}: no {} in it, but several files that may be weights: {}; pass the path of one",
                          folder.string(), kWeights, list_of(weights)));
  }
  const fs::path file = folder / weights.front();
  if (is_dangling_link(file)) fail_dangling(file);
  return {config, file, is_index(weights.front())};
}

}  // namespace

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 10;
  if (names.empty()) return "nothing";
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kShown) text += fmt::format(", … ({} entries)", names.size());
  return text;
}

std::vector<std::string> weights_among(const std::string& folder, const std::vector<std::string>& names) {
  for (const std::string_view usual : kWeightNames) {
    if (contains(names, usual)) return {std::string(usual)};
  }
  std::vector<std::string> found;
  std::copy_if(names.begin(), names.end(), std::back_inserter(found), may_be_weights);
  if (found.empty()) fail_without_weights(folder, names);
  std::sort(found.begin(), found.end());
  return found;
}

bool is_index(std::string_view name) {
  return name.ends_with(kIndexEnding);
}

void fail_without_config(const ModelPaths& paths) {
  const fs::path folder = paths.weights.parent_path();
  not_found(fmt::format(
      "{}: no {} in it, which says what network the weights belong to; found {}. Their tensors alone do not "
      "say "
      "it either; if you know the architecture, name it: --arch NAME",
      folder.empty() ? "." : folder.string(), kConfig, list_of(names_in(folder.empty() ? "." : folder))));
}

std::filesystem::path model_folder(const std::filesystem::path& path) {
  return is_folder(path) ? path : path.parent_path();
}

fs::path resolve_model(const fs::path& path) {
  if (is_there(path) || is_dangling_link(path)) return path;
  const std::string text = path.string();
  const bool names_file =
      has_ending(text, kWeightEndings) || has_ending(text, kOtherFormats) || text.ends_with(".json");
  if (const auto id = names_file ? std::nullopt : find_hub_id(text)) {
    const fs::path cache = read_hub_settings().cache;
    try {
      return find_in_cache(*id, cache);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}; there is no such file or folder either", error.what()));
    }
  }
  not_found(
      fmt::format("{}: no such file or folder; expected a model folder ({} and {}), a weights file, or "
                  "the name of a model on the hub (org/name)",
                  text, kConfig, kWeights));
}

ModelPaths locate_model(const fs::path& path) {
  if (is_folder(path)) return locate_in_folder(path);
  if (is_dangling_link(path)) fail_dangling(path);
  if (!is_there(path)) not_found(fmt::format("{}: no such file or folder", path.string()));
  const std::string name = path.filename().string();
  if (name == kConfig) return locate_in_folder(path.parent_path());
  if (has_ending(name, kOtherFormats)) fail_other_format(path.string());
  return {config_in(path.parent_path()), path, is_index(name)};
}

}  // namespace vit::io
