#include "io/checkpoint.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "io/config_reader.hpp"
#include "io/family.hpp"
#include "io/json.hpp"
#include "io/name_map.hpp"
#include "io/timm_recipe.hpp"
#include "io/weight_files.hpp"
#include "vit/file.hpp"

namespace vit::io {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{16} << 20;
constexpr FileErrors kConfigErrors{ErrorCode::model_not_found, ErrorCode::config_invalid,
                                   ErrorCode::config_invalid};
constexpr std::string_view kRecipe = "preprocessor_config.json";
constexpr std::string_view kProcessor = "processor_config.json";  // holds the same, nested

ConfigReader read_config(const std::filesystem::path& path) {
  const std::string name = path.string();
  const std::vector<std::byte> bytes = read_file(path, kMaxConfigBytes, kConfigErrors);
  return {parse_json_object(as_text(bytes), JsonSource(name)), name};
}

void validate(const ModelConfig& model, const ConfigReader& config) {
  try {
    model.validate();
  } catch (const Error& error) {
    config.fail(error.code(), error.what());
  }
}

/// The family's or the config's names; where they give none at all, transformers' LABEL_0, LABEL_1, …
Labels make_labels(const ConfigReader& config, const FamilyConfig& result) {
  const std::int64_t classes = result.model.num_classes;
  if (classes == 0) return {};
  if (const auto known = result.labels ? result.labels : config.labels()) return {classes, *known};
  std::map<std::int64_t, std::string> names;
  for (std::int64_t i = 0; i < classes; ++i) names.emplace(i, fmt::format("LABEL_{}", i));
  return {classes, names};
}

/// As the image-classification pipeline of transformers chooses.
ScoreFunction choose_score_function(const std::string& problem_type, std::int64_t classes) {
  if (problem_type == "regression") return ScoreFunction::none;
  const bool each_by_itself = problem_type == "multi_label_classification" || classes == 1;
  return each_by_itself ? ScoreFunction::sigmoid : ScoreFunction::softmax;
}

/// The config.json of a folder; nothing where there is none that can be read (loading the model is what
/// complains about that).
std::optional<Json> config_in(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "config.json";
  try {
    const std::vector<std::byte> bytes = read_file(path, kMaxConfigBytes, kConfigErrors);
    return parse_json_object(as_text(bytes), JsonSource(path.string()));
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// model_type, which decides what a recipe means that does not name its class; empty if there is none.
std::string model_type_of(const std::optional<Json>& config) {
  const Json* type = config ? find(*config, "model_type") : nullptr;
  return type != nullptr && type->is_string() ? type->get<std::string>() : "";
}

void load_recipe(const std::filesystem::path& path, CheckpointInfo& info) {
  try {
    info.recipe = load_preprocess_config(path);
  } catch (const Error& error) {
    info.recipe_error = error;
  }
}

/// Says so where the recipe's pictures have another size than the position table was made for. transformers
/// does the same for DINOv2, and for ViT when it is asked to (interpolate_pos_encoding).
void report_resampled_positions(CheckpointInfo& info) {
  if (!info.recipe || (info.recipe->resize != ResizeMode::exact && !info.recipe->crop)) return;
  const Size2 pictures = info.recipe->crop.value_or(info.recipe->size);
  const Size2 from = info.config.grid(info.config.image_size);
  const Size2 to = info.config.grid(pictures);
  if (from == to) return;
  info.resolved.push_back(
      {"position embeddings",
       fmt::format("resampled ({}) from {}x{} to {}x{} patches", to_string(info.config.position_resampling),
                   from.height, from.width, to.height, to.width),
       "size of the pictures in the recipe"});
}

}  // namespace

Checkpoint load_checkpoint(const std::filesystem::path& path) {
  Checkpoint checkpoint;
  CheckpointInfo& info = checkpoint.info;
  const ModelPaths paths = locate_model(path);

  ConfigReader config = read_config(paths.config);
  const Family& family = select_family(config);
  const auto files = std::make_shared<WeightFiles>(paths);
  FamilyConfig result = family.read_config(config, *files);
  validate(result.model, config);

  NameMapping mapping = map_weights(*files, result.names != nullptr ? *result.names : family.names,
                                    result.model, checkpoint.weights);
  checkpoint.weights.storage = files;
  checkpoint.weights.release_pages = [files] { files->release_pages(); };

  info.path = path;
  info.family = family.name;
  info.architecture = std::move(result.architecture);
  info.config = result.model;
  info.parameters = parameter_count(result.model);
  info.labels = make_labels(config, result);
  info.problem_type = config.find_text("problem_type").value_or("");
  info.score_function = choose_score_function(info.problem_type, result.model.num_classes);
  info.weight_files = files->paths();
  info.stored_dtype = std::move(mapping.stored_dtype);
  info.ignored = std::move(mapping.ignored);
  info.unmatched = std::move(mapping.unmatched);
  info.resolved = config.resolved();
  for (FileNote& note : files->notes())
    info.resolved.push_back({std::move(note.key), std::move(note.value), files->name().filename().string()});
  info.notes = std::move(result.notes);
  if (!info.unmatched.empty()) {
    info.notes.push_back(
        fmt::format("{} tensors of the file belong to no part of this network ({}, …); vitrine info "
                    "lists them",
                    info.unmatched.size(), info.unmatched.front()));
  }
  load_recipe(path, info);
  report_resampled_positions(info);
  return checkpoint;
}

PreprocessConfig load_preprocess_config(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw Error(ErrorCode::model_not_found, fmt::format("{}: no such file or folder", path.string()));
  }
  const bool is_recipe = !std::filesystem::is_directory(path, ignored) && path.extension() == ".json" &&
                         path.filename() != "config.json" &&
                         !path.filename().string().ends_with(".index.json");
  const std::filesystem::path folder = is_recipe ? path.parent_path() : model_folder(path);
  const std::optional<Json> config = config_in(folder);
  if (!is_recipe && config && is_timm_config(*config))
    return parse_timm_recipe(*config, (folder / "config.json").string());
  std::filesystem::path file = is_recipe ? path : folder / kRecipe;
  const std::filesystem::path processor = file.parent_path() / kProcessor;
  if (!std::filesystem::exists(file, ignored) && std::filesystem::exists(processor, ignored))
    file = processor;
  if (!std::filesystem::exists(file, ignored)) {
    throw Error(
        ErrorCode::config_invalid,
        fmt::format(
            "{}: there is no such file, which says how pictures become the network's input (size, mean, "
            "standard deviation); copy it from where the model came from, or write it in Python: "
            "AutoImageProcessor.from_pretrained(NAME).save_pretrained(FOLDER)",
            file.string()));
  }
  const std::vector<std::byte> bytes = read_file(file, kMaxConfigBytes, kConfigErrors);
  return parse_preprocessor_config(as_text(bytes), file.string(), model_type_of(config));
}

}  // namespace vit::io
