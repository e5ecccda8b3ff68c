#include "io/checkpoint_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <system_error>
#include <utility>

#include "io/checkpoint_source.hpp"
#include "io/hf_config.hpp"
#include "io/json.hpp"
#include "io/model_metadata.hpp"
#include "io/name_map.hpp"
#include "io/quantisation.hpp"
#include "io/safetensors_writer.hpp"
#include "vit/error.hpp"
#include "vit/file.hpp"
#include "vit/quantised.hpp"

namespace vit::io {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxRecipeBytes = std::size_t{16} << 20;

/// What is going to be written.
struct Plan {
  Json config;
  NameTable names;
  NameChoices choices;
  std::optional<TensorSpec> mask_token;
  bool same_form = false;  ///< as the source: tensors that the network does not use go along
  std::map<std::string, std::string> texts;  ///< other files
  std::vector<std::string> notes;
};

std::string scale_name(const std::string& name) {
  return name + std::string(kScaleEnding);
}

std::string_view torch_name(DType dtype) {
  return dtype == DType::f32 ? "float32" : dtype == DType::f16 ? "float16" : "bfloat16";
}

DType stored_dtype(const CheckpointInfo& info) {
  return info.stored_dtype == "F16" ? DType::f16 : info.stored_dtype == "BF16" ? DType::bf16 : DType::f32;
}

bool is_timm(const CheckpointInfo& info) {
  return info.family.starts_with("timm_");
}

/// timm's own loader takes the architecture without its tag, and no argument of ours.
Json timm_config(const CheckpointInfo& info, Json config) {
  const std::string full = config["architecture"].get<std::string>();
  const std::size_t dot = full.find('.');
  if (dot == std::string::npos) return config;
  config["architecture"] = full.substr(0, dot);
  if (config.contains("pretrained_cfg")) config["pretrained_cfg"]["tag"] = full.substr(dot + 1);
  config["num_classes"] = info.config.num_classes;
  config["model_args"]["img_size"] = {info.config.image_size.height, info.config.image_size.width};
  return config;
}

/// The recipe's file as it lies beside the source, else, and for pictures of another size, one that says the
/// same.
void add_recipe(const CheckpointInfo& info, bool resized, Plan& plan) {
  const fs::path folder = model_folder(info.path);
  for (const char* name : {"preprocessor_config.json", "processor_config.json"}) {
    std::error_code ignored;
    if (!plan.same_form || resized || !fs::exists(folder / name, ignored)) continue;
    plan.texts[name] =
        as_text(read_file(folder / name, kMaxRecipeBytes, FileErrors::all(ErrorCode::config_invalid)));
  }
  if (!plan.texts.empty() || !info.recipe) return;
  PreprocessConfig recipe = *info.recipe;
  if (recipe.arithmetic == RecipeArithmetic::torchvision) {
    recipe.arithmetic = RecipeArithmetic::transformers;
    recipe.exif = Exif::apply;
    plan.notes.emplace_back(
        "transformers turns pictures upright and rounds the offsets of a crop otherwise: the tensors made of "
        "some pictures differ from the source's by a pixel");
  }
  if (const auto text = to_preprocessor_config(recipe)) {
    plan.texts["preprocessor_config.json"] = *text + "\n";
  } else {
    plan.notes.emplace_back("the picture recipe has no form in transformers and is left out");
  }
}

/// A network that was changed when it was loaded is another one than the config says.
void check_config(const Checkpoint& checkpoint, const Json& config) {
  const Size2 patch = checkpoint.info.config.patch_size;
  const Size2 stored = checkpoint.source->patch_size;
  if (patch == stored) return;
  throw Error(
      ErrorCode::model_unsupported,
      fmt::format(
          "{}: a resized patch embedding ({}x{} to {}x{}) is not written in this form; --to transformers "
          "may do",
          config.value("architecture", checkpoint.info.family), stored.height, stored.width, patch.height,
          patch.width));
}

Plan make_plan(const Checkpoint& checkpoint, const WriteOptions& options) {
  const CheckpointInfo& info = checkpoint.info;
  Plan plan;
  const bool resized = checkpoint.source != nullptr && checkpoint.source->image_size.has_value();
  const bool has_form = checkpoint.source != nullptr && !checkpoint.source->config.empty() &&
                        checkpoint.source->family->architectures.empty();
  if (has_form && (!is_timm(info) || !options.transformers)) {
    plan.config = checkpoint.source->config;
    plan.names = checkpoint.source->names;
    plan.choices = checkpoint.source->choices;
    plan.same_form = true;
    check_config(checkpoint, plan.config);
    if (is_timm(info)) {
      if (resized) {
        throw Error(
            ErrorCode::model_unsupported,
            fmt::format("{}: another picture size than the folder's own is not written in timm's form; "
                        "--to transformers may do",
                        info.path.string()));
      }
      plan.config = timm_config(info, std::move(plan.config));
      return plan;
    }
  } else {
    HfModel model = to_hf_model(info);
    plan.config = std::move(model.config);
    plan.names = std::move(model.names);
    plan.choices = std::move(model.choices);
    plan.mask_token = std::move(model.mask_token);
    plan.notes.emplace_back(
        "for pictures of other sizes than the network's own, transformers resizes the position embeddings by "
        "its "
        "own rule");
  }
  add_recipe(info, resized, plan);
  return plan;
}

/// Values of one tensor at a time.
class TensorWriter {
 public:
  TensorWriter(const fs::path& path, std::vector<TensorSpec> tensors, const SafetensorsMetadata& metadata,
               const FileDTypes& dtypes)
      : path_(path), dtypes_(dtypes), writer_(path, std::move(tensors), metadata, dtypes) {}

  void write(const std::string& name, const Tensor& values) {
    constexpr float kLargestF16 = 65504;
    if (dtypes_.most == DType::f16 && !dtypes_.others.contains(name)) {
      const auto values_of = values.elements();
      const auto too_large = std::find_if(values_of.begin(), values_of.end(), [](float x) {
        return std::isfinite(x) && std::fabs(x) > kLargestF16;
      });
      if (too_large != values_of.end()) {
        throw Error(ErrorCode::weights_invalid,
                    fmt::format("{}: {} holds {}, which is beyond f16's range; fp32 and bf16 can hold it",
                                path_.string(), name, *too_large));
      }
    }
    writer_.write(name, values.elements());
  }

  void write(const std::string& name, const QuantisedMatrix& matrix) {
    if (!std::all_of(matrix.scales.begin(), matrix.scales.end(), [](float x) { return std::isfinite(x); })) {
      throw Error(ErrorCode::weights_invalid,
                  fmt::format("{}: {} holds NaN or infinity, which no 8-bit integer stands for",
                              path_.string(), name));
    }
    writer_.write_levels(name, matrix.levels);
    writer_.write(scale_name(name), matrix.scales);
  }

  void finish() { writer_.finish(); }

 private:
  fs::path path_;
  FileDTypes dtypes_;
  SafetensorsWriter writer_;
};

/// Tensors of the source that are numbers but no part of the network.
std::vector<const StoredTensor*> unused_tensors(const Checkpoint& checkpoint) {
  std::vector<const StoredTensor*> unused;
  for (const auto* list : {&checkpoint.info.ignored, &checkpoint.info.unmatched}) {
    for (const std::string& name : *list) {
      const StoredTensor* tensor = checkpoint.source->files->tensors().find(name)->second.tensor;
      if (tensor->float_dtype) unused.push_back(tensor);
    }
  }
  return unused;
}

std::string without_wrapper(const Checkpoint& checkpoint, const std::string& name) {
  return name.substr(checkpoint.source->files->wrapper().size());
}

/// The source's, zeros if it has none.
Tensor mask_token(const Checkpoint& checkpoint, const Shape& shape) {
  const StoredTensor* stored =
      checkpoint.source == nullptr ? nullptr : checkpoint.source->files->find("mask_token");
  Tensor values(shape);
  std::fill_n(values.data(), values.size(), 0.0F);
  if (stored != nullptr && stored->float_dtype && element_count(stored->shape) == values.size()) {
    const WeightView view{shape, {{stored->data.data(), *stored->float_dtype, values.size()}}};
    view.copy_to(values.data());
  }
  return values;
}

/// What a file's tensors of the network are made of.
struct FileContent {
  std::vector<TensorSpec> tensors;
  std::vector<std::vector<FilePiece>> pieces;  // of each

  bool quantisable(std::size_t i) const {
    return std::all_of(pieces[i].begin(), pieces[i].end(),
                       [](const FilePiece& piece) { return piece.quantisable; });
  }

  /// What may be linear layers to others, beside those that are quantisable.
  std::vector<std::string> unrounded_layers() const {
    constexpr std::string_view kEnding = ".weight";
    std::vector<std::string> layers;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::string& name = tensors[i].name;
      if (!quantisable(i) && tensors[i].shape.size() == 2 && name.ends_with(kEnding))
        layers.push_back(name.substr(0, name.size() - kEnding.size()));
    }
    return layers;
  }

  /// Its numbers; what no piece covers is zero.
  Tensor values(std::size_t i) const {
    Tensor values(tensors[i].shape);
    std::fill_n(values.data(), values.size(), 0.0F);
    for (const FilePiece& piece : pieces[i]) piece.view.copy_to(values.data() + piece.begin);
    return values;
  }

  /// As 8-bit integers, each row by itself, as when a network is packed for them.
  QuantisedMatrix levels(std::size_t i) const {
    const std::int64_t columns = tensors[i].shape[1];
    QuantisedMatrix all;
    all.storage.resize(static_cast<std::size_t>(element_count(tensors[i].shape)));
    all.scales.resize(static_cast<std::size_t>(tensors[i].shape[0]), 1.0F);
    for (const FilePiece& piece : pieces[i]) {
      const QuantisedMatrix rows = quantise(piece.view);
      std::copy(rows.levels.begin(), rows.levels.end(), all.storage.begin() + piece.begin);
      std::copy(rows.scales.begin(), rows.scales.end(), all.scales.begin() + piece.begin / columns);
    }
    all.levels = all.storage;
    return all;
  }
};

FileContent content_of(const Checkpoint& checkpoint, const Plan& plan) {
  Weights weights = checkpoint.weights;  // views only
  const ModelConfig& config = checkpoint.info.config;
  FileContent content{file_tensors(plan.names, config, plan.choices), {}};
  content.pieces.resize(content.tensors.size());
  for (FilePiece& piece : file_pieces(plan.names, config, plan.choices, weights))
    content.pieces[piece.file_tensor].push_back(std::move(piece));
  return content;
}

/// What the integers were rounded from: a name, no path of the machine.
std::string origin_of(const CheckpointInfo& info) {
  const fs::path folder = (fs::absolute(model_folder(info.path)) / "").lexically_normal().parent_path();
  const std::string file = info.weight_files.empty() ? "" : info.weight_files.front().filename().string();
  return fmt::format("{}/{}{}, {}", folder.filename().string(), file,
                     info.weight_files.size() > 1 ? ", …" : "", info.stored_dtype);
}

void write_weights(const Checkpoint& checkpoint, const Plan& plan, const FileContent& content,
                   const WriteOptions& options, WriteReport& report) {
  std::vector<TensorSpec> tensors = content.tensors;
  const std::vector<const StoredTensor*> unused =
      plan.same_form ? unused_tensors(checkpoint) : std::vector<const StoredTensor*>();
  for (const StoredTensor* tensor : unused)
    tensors.push_back({without_wrapper(checkpoint, tensor->name), tensor->shape});
  if (plan.mask_token) tensors.push_back(*plan.mask_token);

  FileDTypes dtypes(report.dtype);
  SafetensorsMetadata metadata{{"format", "pt"}};
  if (options.matrices == MatrixStorage::int8) {
    for (std::size_t i = 0; i < content.tensors.size(); ++i) {
      const auto& [name, shape] = content.tensors[i];
      if (!content.quantisable(i)) continue;
      tensors.push_back({scale_name(name), {shape[0], 1}});
      dtypes.others[name] = DType::i8;
      dtypes.others[scale_name(name)] = DType::f32;
      ++report.rounded;
    }
    metadata.emplace(kQuantisedFrom, origin_of(checkpoint.info));
    metadata.emplace(kQuantisedBy, options.producer);
  }
  report.tensors = std::ssize(tensors);

  TensorWriter writer(report.files.front(), std::move(tensors), metadata, dtypes);
  for (std::size_t i = 0; i < content.tensors.size(); ++i) {
    const std::string& name = content.tensors[i].name;
    if (dtypes.others.contains(name)) {
      writer.write(name, content.levels(i));
    } else {
      writer.write(name, content.values(i));
    }
    if (checkpoint.weights.release_pages) checkpoint.weights.release_pages();
  }
  for (const StoredTensor* tensor : unused) {
    const WeightView view{tensor->shape,
                          {{tensor->data.data(), *tensor->float_dtype, element_count(tensor->shape)}}};
    writer.write(without_wrapper(checkpoint, tensor->name), view.to_tensor());
  }
  if (plan.mask_token) writer.write(plan.mask_token->name, mask_token(checkpoint, plan.mask_token->shape));
  writer.finish();
}

/// What config.json says of the weights.
void describe_weights(const CheckpointInfo& info, const WriteOptions& options, const FileContent& content,
                      DType dtype, Plan& plan) {
  plan.config[plan.config.contains("torch_dtype") ? "torch_dtype" : "dtype"] = torch_name(dtype);
  if (is_timm(info) && plan.same_form) plan.config.erase("dtype");  // timm's has no such key
  plan.config.erase(std::string(kQuantisationKey));
  if (options.matrices == MatrixStorage::int8) {
    plan.config[std::string(kQuantisationKey)] = quantisation_config(content.unrounded_layers());
  } else if (info.precision == Precision::int8) {
    plan.notes.emplace_back("the 8-bit weights are written as the numbers that they stand for");
  }
}

void refuse_existing(const fs::path& folder, const Plan& plan, const WriteOptions& options) {
  std::vector<std::string> names{"model.safetensors", "config.json"};
  for (const auto& [name, text] : plan.texts) names.push_back(name);
  for (const std::string& name : names) {
    std::error_code ignored;
    if (!options.overwrite && fs::exists(folder / name, ignored)) {
      throw Error(ErrorCode::output_unwritable,
                  fmt::format("{}: it exists already; --force replaces it", (folder / name).string()));
    }
  }
}

}  // namespace

WriteReport write_checkpoint(const Checkpoint& checkpoint, const std::filesystem::path& folder,
                             const WriteOptions& options) {
  if (options.matrices == MatrixStorage::int8 && checkpoint.info.precision == Precision::int8) {
    throw Error(ErrorCode::model_unsupported,
                fmt::format("{}: its weights are 8-bit integers already", checkpoint.info.path.string()));
  }
  Plan plan = make_plan(checkpoint, options);
  const DType dtype = options.dtype.value_or(stored_dtype(checkpoint.info));
  const FileContent content = content_of(checkpoint, plan);
  describe_weights(checkpoint.info, options, content, dtype, plan);
  refuse_existing(folder, plan, options);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw Error(ErrorCode::output_unwritable,
                fmt::format("{}: cannot make the folder: {}", folder.string(), error.message()));
  }
  WriteReport report{.files = {folder / "model.safetensors", folder / "config.json"},
                     .dtype = dtype,
                     .notes = std::move(plan.notes)};
  write_weights(checkpoint, plan, content, options, report);
  for (const auto& [name, text] : plan.texts) {
    write_file_atomically(folder / name, text);
    report.files.push_back(folder / name);
  }
  // Last: a folder without it is not taken for a model.
  write_file_atomically(folder / "config.json",
                        plan.config.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  return report;
}

}  // namespace vit::io
