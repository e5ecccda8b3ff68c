#include "io/checkpoint.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "io/checkpoint_source.hpp"
#include "io/family.hpp"
#include "io/imagenet_labels.hpp"
#include "io/json.hpp"
#include "io/model_metadata.hpp"
#include "io/model_source.hpp"
#include "io/name_map.hpp"
#include "io/patch_resize.hpp"
#include "io/preset_recipe.hpp"
#include "io/quantisation.hpp"
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
constexpr std::string_view kPreset = "preset.json";

void validate(const ModelConfig& model, const ConfigReader& config) {
  try {
    model.validate();
  } catch (const Error& error) {
    config.fail(error.code(), error.what());
  }
}

/// The family's or the config's names; where they give none at all, ImageNet's if the head has the size of
/// one of its sets, else transformers' LABEL_0, LABEL_1, …
Labels make_labels(const ConfigReader& config, const FamilyConfig& result, CheckpointInfo& info) {
  const std::int64_t classes = result.model.num_classes;
  if (classes == 0) return {};
  const auto found = [&](const std::map<std::int64_t, std::string>& names, std::string source) {
    info.resolved.push_back({"labels", fmt::format("{} names", names.size()), std::move(source)});
    return Labels(classes, names);
  };
  if (result.labels) return found(*result.labels, config.origin());
  if (const auto known = config.labels()) return found(*known, config.origin() + " (id2label)");
  if (const auto imagenet = imagenet_names(classes)) {
    info.notes.push_back(
        fmt::format("the model does not name its {} classes; they are taken to be ImageNet's", classes));
    return found(*imagenet, "ImageNet's, by the size of the head");
  }
  std::map<std::int64_t, std::string> names;
  for (std::int64_t i = 0; i < classes; ++i) names.emplace(i, fmt::format("LABEL_{}", i));
  return found(names, "default of transformers");
}

/// As the image-classification pipeline of transformers chooses for its own models; timm and torchvision know
/// one function.
ScoreFunction choose_score_function(std::string_view family, const std::string& problem_type,
                                    std::int64_t classes) {
  if (!family.starts_with("hf_")) return ScoreFunction::softmax;
  if (problem_type == "regression") return ScoreFunction::none;
  const bool each_by_itself = problem_type == "multi_label_classification" || classes == 1;
  return each_by_itself ? ScoreFunction::sigmoid : ScoreFunction::softmax;
}

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

/// The config.json of a folder; nothing where there is none that can be read (loading the model is what
/// complains about that).
std::optional<Json> config_in(const std::filesystem::path& folder) {
  try {
    return read_json_file(folder / "config.json");
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// model_type, which decides what a recipe means that does not name its class; empty if there is none.
std::string model_type_of(const std::optional<Json>& config) {
  const Json* type = config ? find(*config, "model_type") : nullptr;
  return type != nullptr && type->is_string() ? type->get<std::string>() : "";
}

[[noreturn]] void fail_without_recipe(const std::filesystem::path& folder) {
  throw Error(
      ErrorCode::config_invalid,
      fmt::format(
          "{}: there is no such file, which says how pictures become the network's input (size, mean, "
          "standard deviation); copy it from where the model came from, or write it in Python: "
          "AutoImageProcessor.from_pretrained(NAME).save_pretrained(FOLDER)",
          (folder / kRecipe).string()));
}

PreprocessConfig read_processor(const std::filesystem::path& file, const std::optional<Json>& config) {
  const std::vector<std::byte> bytes = read_file(file, kMaxConfigBytes, kConfigErrors);
  return parse_preprocessor_config(as_text(bytes), file.string(), model_type_of(config));
}

bool has_weights(const std::filesystem::path& path) {
  try {
    locate_model(path);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// What the files of a folder say, or the JSON file that is named itself; nothing where none does.
std::optional<PreprocessConfig> recipe_in(const std::filesystem::path& path) {
  std::error_code ignored;
  const bool is_recipe = !std::filesystem::is_directory(path, ignored) && path.extension() == ".json" &&
                         path.filename() != "config.json" &&
                         !path.filename().string().ends_with(".index.json");
  const std::filesystem::path folder = is_recipe ? path.parent_path() : model_folder(path);
  const std::optional<Json> config = config_in(folder);
  if (is_recipe && path.filename() != kPreset) return read_processor(path, config);
  if (!is_recipe && config && is_timm_config(*config))
    return parse_timm_recipe(*config, (folder / "config.json").string());
  if (model_type_of(config).empty() && is_there(folder / kPreset)) {
    const std::string name = (folder / kPreset).string();
    return parse_preset(read_json_file(folder / kPreset), fmt::format("torchvision, {}", name), name);
  }
  for (const std::string_view name : {kRecipe, kProcessor}) {
    if (is_there(folder / name)) return read_processor(folder / name, config);
  }
  return std::nullopt;
}

/// The recipe that the config or the family brings along; nothing where it has to lie in a file of its own.
std::optional<PreprocessConfig> recipe_of(const ModelSource& source, const ModelConfig& model) {
  const Json& config = source.config.json();
  const std::string& name = source.config.name();
  if (const Json* preset = find(config, "preset"))
    return parse_preset(*preset, fmt::format("{}, {}", source.family->name, name), name);
  if (!source.family->preset.empty()) {
    return parse_preset(parse_json_object(source.family->preset, source.family->name),
                        fmt::format("{}, as its authors prepare pictures", source.family->name), name,
                        model.image_size);
  }
  return is_timm_config(config) ? std::optional(parse_timm_recipe(config, name)) : std::nullopt;
}

/// A named architecture brings its recipe along; else the files beside the weights come first.
void find_recipe(const std::filesystem::path& path, const ModelSource& source, const LoadOptions& options,
                 CheckpointInfo& info) {
  if (source.recipe_error) throw *source.recipe_error;
  std::optional<PreprocessConfig> recipe;
  if (options.architecture.empty()) {
    recipe = recipe_in(path);
    info.recipe_assumed = !recipe;
  }
  if (!recipe) recipe = recipe_of(source, info.config);
  if (!recipe) fail_without_recipe(model_folder(path));
  info.recipe = options.image_size ? resized(*recipe, *options.image_size) : *recipe;
}

void load_recipe(const std::filesystem::path& path, const ModelSource& source, const LoadOptions& options,
                 CheckpointInfo& info) {
  try {
    find_recipe(path, source, options, info);
  } catch (const Error& error) {
    info.recipe_error = error;
  }
}

/// Says so where the recipe's pictures have another size than the position table was made for. transformers
/// does the same for DINOv2, and for ViT when it is asked to (interpolate_pos_encoding).
void report_resampled_positions(CheckpointInfo& info) {
  const std::optional<Size2> pictures = info.recipe ? fixed_size(*info.recipe) : std::nullopt;
  if (!pictures) return;
  const Size2 from = info.config.grid(info.config.image_size);
  const Size2 to = info.config.grid(*pictures);
  if (from == to) return;
  info.resolved.push_back(
      {"position embeddings",
       fmt::format("resampled ({}) from {}x{} to {}x{} patches", to_string(info.config.position_resampling),
                   from.height, from.width, to.height, to.width),
       "size of the pictures in the recipe"});
}

/// Everything that the config says, and what the weights and the options add to it.
void describe_model(const ModelSource& source, FamilyConfig result, CheckpointInfo& info) {
  const ConfigReader& config = source.config;
  info.family = source.family->name;
  info.architecture = std::move(result.architecture);
  info.config = result.model;
  info.parameters = parameter_count(result.model);
  info.notes = source.notes;
  info.notes.insert(info.notes.end(), result.notes.begin(), result.notes.end());
  info.resolved = config.resolved();
  info.labels = make_labels(config, result, info);
  info.problem_type = config.find_text("problem_type").value_or("");
  info.score_function = choose_score_function(info.family, info.problem_type, result.model.num_classes);
  if (result.model.num_classes > 0) {
    info.resolved.push_back({"score function", std::string(to_string(info.score_function)),
                             info.problem_type.empty()
                                 ? "no problem_type in " + config.origin()
                                 : fmt::format("{} (problem_type {})", config.origin(), info.problem_type)});
  }
}

void describe_quantisation(const ConfigReader& config, bool quantised, CheckpointInfo& info) {
  if (quantised) {
    info.precision = Precision::int8;
    info.resolved.push_back({"precision", "int8, unless --precision asks for another",
                             "matrices of the blocks stored as 8-bit integers"});
  } else if (says_quantised(config)) {
    config.fail(ErrorCode::weights_invalid,
                fmt::format("{}: the weights should be 8-bit integers, and none of the file's tensors are",
                            kQuantisationKey));
  }
}

/// The same grid of patches, each of another size.
void set_patch_size(Size2 patch, ModelConfig& model, ModelSource& source) {
  constexpr std::int64_t kMostPixels = 256;  // of a side; the pseudo-inverse's effort grows with its cube
  if (patch.height < 1 || patch.width < 1 || patch.height > kMostPixels || patch.width > kMostPixels) {
    throw Error(ErrorCode::invalid_argument, fmt::format("a patch of {}x{} pixels: sides must be 1 to {}",
                                                         patch.height, patch.width, kMostPixels));
  }
  const Size2 grid = model.grid(model.image_size);
  source.config.note("patch_size",
                     fmt::format("resized from {}x{} to {}x{} pixels", model.patch_size.height,
                                 model.patch_size.width, patch.height, patch.width),
                     "as asked for");
  model.patch_size = patch;
  model.image_size = {grid.height * patch.height, grid.width * patch.width};
  validate(model, source.config);
}

void resize_patches(Size2 patch, Weights& weights, NameMapping& mapping) {
  auto kernel = std::make_shared<const Tensor>(resize_patch_kernel(weights.patch_embed.weight, patch));
  weights.patch_embed.weight = {
      kernel->shape(), {{reinterpret_cast<const std::byte*>(kernel->data()), DType::f32, kernel->size()}}};
  mapping.converted.push_back(std::move(kernel));
}

/// What a user says besides, and the recipe.
void apply_options(const std::filesystem::path& path, const ModelSource& source, const LoadOptions& options,
                   CheckpointInfo& info) {
  if (options.image_size) info.config.validate_image(*options.image_size);
  if (!options.labels.empty()) {
    info.labels = read_label_file(options.labels, info.config.num_classes);
    std::erase_if(info.resolved, [](const ResolvedValue& value) { return value.key == "labels"; });
    info.resolved.push_back(
        {"labels", fmt::format("{} names", info.labels.named()), options.labels.string()});
  }
  load_recipe(path, source, options, info);
  report_resampled_positions(info);
}

}  // namespace

Checkpoint load_checkpoint(const std::filesystem::path& name, const LoadOptions& options) {
  Checkpoint checkpoint;
  CheckpointInfo& info = checkpoint.info;
  const std::filesystem::path path = resolve_model(name);
  const ModelPaths paths = locate_model(path);
  const auto files = std::make_shared<WeightFiles>(paths);
  ModelSource source = find_source(paths, *files, options);
  says_quantised(source.config);  // or something that is not read
  FamilyConfig result = source.family->read_config(source.config, *files);
  validate(result.model, source.config);

  const NameTable names = names_of(result, *source.family);
  NameMapping mapping = map_weights(*files, names, result.model, checkpoint.weights);
  checkpoint.source =
      std::make_shared<CheckpointSource>(CheckpointSource{.config = source.config.json(),
                                                          .family = source.family,
                                                          .image_size = options.image_size,
                                                          .patch_size = result.model.patch_size,
                                                          .names = names,
                                                          .choices = std::move(mapping.choices),
                                                          .files = files});
  if (options.patch_size && options.patch_size != result.model.patch_size) {
    set_patch_size(*options.patch_size, result.model, source);
    resize_patches(*options.patch_size, checkpoint.weights, mapping);
  }
  checkpoint.weights.storage =
      std::make_shared<std::pair<std::shared_ptr<WeightFiles>, decltype(mapping.converted)>>(
          files, std::move(mapping.converted));
  checkpoint.weights.release_pages = [files] { files->release_pages(); };
  checkpoint.weights.release_part = [files](std::span<const std::byte> part) { files->release_pages(part); };

  info.path = path;
  describe_model(source, std::move(result), info);
  info.tensors = std::move(mapping.tensors);
  info.weight_files = files->paths();
  info.stored_dtype = std::move(mapping.stored_dtype);
  describe_quantisation(source.config, mapping.quantised, info);
  info.ignored = std::move(mapping.ignored);
  info.unmatched = std::move(mapping.unmatched);
  for (FileNote& note : files->notes())
    info.resolved.push_back({std::move(note.key), std::move(note.value), files->name().filename().string()});
  if (!info.unmatched.empty()) {
    info.notes.push_back(
        fmt::format("{} tensors of the file belong to no part of this network ({}, …); vitrine info "
                    "lists them",
                    info.unmatched.size(), info.unmatched.front()));
  }
  apply_options(path, source, options, info);
  return checkpoint;
}

CheckpointInfo describe_architecture(const std::string& name, const LoadOptions& options) {
  const WeightFiles none;
  ModelSource source = named_source(name, none);
  FamilyConfig result = source.family->read_config(source.config, none);
  validate(result.model, source.config);
  CheckpointInfo info;
  info.tensors = file_tensors(names_of(result, *source.family), result.model);
  if (options.patch_size && options.patch_size != result.model.patch_size)
    set_patch_size(*options.patch_size, result.model, source);
  describe_model(source, std::move(result), info);
  LoadOptions named = options;
  named.architecture = name;
  apply_options({}, source, named, info);
  return info;
}

PreprocessConfig load_preprocess_config(const std::filesystem::path& name, const LoadOptions& options) {
  const std::filesystem::path path = name.empty() ? name : resolve_model(name);
  if (options.architecture.empty()) {
    if (const auto recipe = recipe_in(path))
      return options.image_size ? resized(*recipe, *options.image_size) : *recipe;
  }
  // What is left depends on the network.
  if (!path.empty() && !has_weights(path)) fail_without_recipe(model_folder(path));
  const CheckpointInfo info = path.empty() ? describe_architecture(options.architecture, options)
                                           : load_checkpoint(path, options).info;
  if (!info.recipe) throw *info.recipe_error;
  return *info.recipe;
}

}  // namespace vit::io
