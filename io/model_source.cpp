#include "io/model_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "io/json.hpp"
#include "io/named_architecture.hpp"
#include "io/timm_architectures.hpp"
#include "io/timm_recipe.hpp"
#include "vit/error.hpp"
#include "vit/file.hpp"

namespace vit::io {
namespace {

/// The rows of the head, 0 without one; nothing where it has a shape that no head has.
std::optional<std::int64_t> count_classes(const WeightFiles& files) {
  if (files.tensors().empty()) return std::nullopt;
  for (const auto& [name, axis] : {std::pair("head.weight", 0U), std::pair("head/kernel", 1U)}) {
    const StoredTensor* head = files.find(name);
    if (head == nullptr) continue;
    return head->shape.size() == 2 ? std::optional(head->shape[axis]) : std::nullopt;
  }
  return 0;
}

/// One of timm's architectures that weights may be of.
struct Candidate {
  std::string name;
  ModelSource source;
  ModelConfig model;
};

/// Whether the files hold the tensors of the table and no others that matter.
bool fits(const WeightFiles& files, const std::vector<TensorSpec>& table) {
  return std::all_of(table.begin(), table.end(), [&](const TensorSpec& spec) {
    const StoredTensor* stored = files.find(spec.name);
    return stored != nullptr && stored->shape == spec.shape;
  });
}

std::optional<Candidate> try_architecture(std::string_view name, const WeightFiles& files) {
  try {
    Candidate candidate{std::string(name), named_source(std::string(name), files), {}};
    FamilyConfig read = candidate.source.family->read_config(candidate.source.config, files);
    read.model.validate();
    candidate.model = read.model;
    const NameTable& names = names_of(read, *candidate.source.family);
    if (!fits(files, file_tensors(names, read.model))) return std::nullopt;
    Weights weights;
    map_weights(files, names, read.model, weights);
    return candidate;
  } catch (const Error&) {
    return std::nullopt;  // refused, or tensors that it does not have
  }
}

std::vector<Candidate> candidates_of(const WeightFiles& files) {
  std::vector<Candidate> candidates;
  if (files.find("patch_embed.proj.weight") == nullptr && files.find("blocks.0.norm1.weight") == nullptr)
    return candidates;
  for (const TimmArchitecture& row : timm_architectures()) {
    if (auto candidate = try_architecture(row.name, files)) candidates.push_back(std::move(*candidate));
  }
  return candidates;
}

std::string names_of(const std::vector<Candidate>& candidates) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string_view> names;
  for (const Candidate& candidate : candidates) {
    if (names.size() < kShown) names.push_back(candidate.name);
  }
  return fmt::format("{}{}", fmt::join(names, ", "), candidates.size() > kShown ? ", …" : "");
}

/// Facebook's DeiT publishes {"model": …}; nobody else's file of such a network is known to look so.
const Candidate* find_deit(const std::vector<Candidate>& candidates, const WeightFiles& files) {
  if (files.state_dict() != "model") return nullptr;
  const auto at = std::find_if(candidates.begin(), candidates.end(),
                               [](const Candidate& c) { return c.name.starts_with("deit"); });
  return at == candidates.end() ? nullptr : &*at;
}

/// What the weights show: all architectures with these very tensors must be the same network.
ModelSource recognise_timm(const ModelPaths& paths, const WeightFiles& files) {
  std::vector<Candidate> candidates = candidates_of(files);
  const std::string file = paths.weights.string();
  if (candidates.empty()) fail_without_config(paths);
  if (const Candidate* deit = find_deit(candidates, files)) {
    ModelSource source = deit->source;
    source.notes.push_back(
        fmt::format("no config.json: the tensors are those of {}, in a file as DeiT's "
                    "authors publish them",
                    deit->name));
    return source;
  }
  const ModelConfig& model = candidates.front().model;
  if (std::any_of(candidates.begin(), candidates.end(),
                  [&](const Candidate& c) { return c.model != model; })) {
    throw Error(
        ErrorCode::model_not_found,
        fmt::format("{}: there is no config.json, and its tensors may be of different networks: {}; name "
                    "the right one: --arch NAME",
                    file, names_of(candidates)));
  }
  ModelSource source = candidates.front().source;
  source.notes.push_back(fmt::format("no config.json: the tensors are those of {}", names_of(candidates)));
  if (candidates.size() > 1) {
    source.recipe_error = Error(
        ErrorCode::config_invalid,
        fmt::format(
            "{}: there is no config.json, and which pictures the network was trained on depends on which of "
            "these it is: {}; name it: --arch NAME.TAG",
            file, names_of(candidates)));
  }
  return source;
}

}  // namespace

Json read_json_file(const std::filesystem::path& path) {
  constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
  constexpr FileErrors kErrors{ErrorCode::model_not_found, ErrorCode::config_invalid,
                               ErrorCode::config_invalid};
  return parse_json_object(as_text(read_file(path, kMaxBytes, kErrors)), path.string());
}

ModelSource named_source(const std::string& name, const WeightFiles& files) {
  Json json = named_config(name);
  if (is_timm_config(json) && json.contains("pretrained_cfg")) {
    if (const auto classes = count_classes(files)) json["num_classes"] = *classes;
  }
  ModelSource source{ConfigReader::named(std::move(json), "--arch " + name)};
  source.family = &select_family(source.config, files);
  return source;
}

ModelSource find_source(const ModelPaths& paths, const WeightFiles& files, const LoadOptions& options) {
  if (!options.architecture.empty()) return named_source(options.architecture, files);
  if (!paths.config.empty()) {
    ModelSource source{ConfigReader(read_json_file(paths.config), paths.config.string())};
    source.family = &select_family(source.config, files);
    return source;
  }
  for (const Family* family : families()) {
    if (family->recognises == nullptr || !family->recognises(files)) continue;
    ModelSource source{ConfigReader::named(Json::object(), paths.weights.string())};
    source.family = family;
    source.notes.push_back(
        fmt::format("no config.json: by the names of its tensors this is of the family {}", family->name));
    return source;
  }
  return recognise_timm(paths, files);
}

}  // namespace vit::io
