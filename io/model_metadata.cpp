#include "io/model_metadata.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/config_json.hpp"
#include "vit/file.hpp"

namespace vit::io {
namespace {

using OrderedJson = nlohmann::ordered_json;  // files for people: in the order in which they are written

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A string literal of Python, which Ultralytics' readers parse.
std::string python_literal(std::string_view text) {
  std::string literal = "'";
  for (const char c : text) {
    if (c == '\\' || c == '\'') {
      literal += '\\';
      literal += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      literal += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      literal += c;
    }
  }
  return literal + '\'';
}

/// {0: 'tench', 1: 'goldfish'}
std::string python_names(const Labels& labels) {
  std::string text = "{";
  for (std::int64_t i = 0; i < labels.size(); ++i)
    text += fmt::format("{}{}: {}", i > 0 ? ", " : "", i, python_literal(labels.name(i)));
  return text + "}";
}

/// Only the classes that have a name of their own: the others stay holes.
OrderedJson id2label(const Labels& labels) {
  OrderedJson json = OrderedJson::object();
  for (std::int64_t i = 0; i < labels.size(); ++i) {
    if (labels.has_name(i)) json[std::to_string(i)] = labels.name(i);
  }
  return json;
}

std::string dump(const OrderedJson& json, int indent) {
  return json.dump(indent, ' ', false, OrderedJson::error_handler_t::replace);
}

OrderedJson height_width(Size2 size) {
  return {{"height", size.height}, {"width", size.width}};
}

/// Windows ML's keys (https://github.com/onnx/onnx/blob/main/docs/MetadataProps.md) say less than a recipe
/// does; where they can, they do.
void add_image_keys(const PreprocessConfig& recipe, ModelMetadata& metadata) {
  constexpr std::array<double, 3> kHalf{0.5, 0.5, 0.5};
  metadata.emplace_back("Image.BitmapPixelFormat", "Rgb8");
  metadata.emplace_back("Image.ColorSpaceGamma", "SRGB");
  const bool to_one = recipe.rescale && recipe.rescale_factor == 1.0 / 255.0;
  if (to_one && !recipe.normalize) metadata.emplace_back("Image.NominalPixelRange", "Normalized_0_1");
  if (to_one && recipe.normalize && recipe.mean == kHalf && recipe.std == kHalf)
    metadata.emplace_back("Image.NominalPixelRange", "Normalized_1_1");
}

/// "hf, ViTImageProcessor, FOLDER/preprocessor_config.json" -> "hf, ViTImageProcessor". Folders may have
/// commas too.
std::string without_file_name(const std::string& source, const std::filesystem::path& model) {
  for (const std::filesystem::path& name : {model, model.parent_path(), model.filename()}) {
    const std::size_t at = name.empty() ? std::string::npos : source.find(", " + name.string());
    if (at != std::string::npos) return source.substr(0, at);
  }
  return source.substr(0, source.rfind(", "));
}

/// The values of the keys, and errors that name them.
class MetadataReader {
 public:
  MetadataReader(const std::filesystem::path& path, const ModelMetadata& metadata)
      : path_(path.string()), values_(metadata.begin(), metadata.end()) {}

  std::string text(const std::string& key) const {
    const auto found = values_.find(key);
    if (found == values_.end()) fail(key, "is missing");
    return found->second;
  }

  bool has(const std::string& key) const { return values_.contains(key); }
  std::string source(const std::string& key) const { return path_ + ": metadata " + key; }

  [[noreturn]] void fail(const std::string& key, std::string_view what) const {
    throw Error(ErrorCode::config_invalid, fmt::format("{} {}", source(key), what));
  }

 private:
  std::string path_;
  std::map<std::string, std::string> values_;
};

Labels read_labels(const MetadataReader& reader, std::int64_t classes) {
  const std::string source = reader.source("id2label");
  const Json json = parse_json_object(reader.text("id2label"), source);
  std::map<std::int64_t, std::string> names;
  for (const auto& [key, value] : json.items()) {
    const auto index = std::strtoll(key.c_str(), nullptr, 10);
    if (std::to_string(index) != key || index < 0 || index >= classes || !value.is_string())
      throw_unexpected(source, key, fmt::format("a class from 0 to {} and its name", classes - 1), value);
    names[index] = value.get<std::string>();
  }
  return {classes, names};
}

ScoreFunction read_score_function(const MetadataReader& reader) {
  const std::string text = reader.text("vit.score_function");
  for (const ScoreFunction function : {ScoreFunction::softmax, ScoreFunction::sigmoid, ScoreFunction::none}) {
    if (to_string(function) == text) return function;
  }
  reader.fail("vit.score_function", fmt::format("is \"{}\", expected softmax, sigmoid or none", text));
}

}  // namespace

ModelMetadata write_metadata(const CheckpointInfo& info, const ModelConfig& config) {
  ModelMetadata metadata;
  const auto add = [&](const char* key, std::string value) { metadata.emplace_back(key, std::move(value)); };
  if (config.num_classes > 0) {
    add("task", "classify");
    add("names", python_names(info.labels));
    add("id2label", dump(id2label(info.labels), -1));
  }
  add("imgsz", fmt::format("[{}, {}]", config.image_size.height, config.image_size.width));
  add("channels", std::to_string(config.num_channels));
  add("stride", std::to_string(std::max(config.patch_size.height, config.patch_size.width)));
  if (info.recipe) {
    if (const auto json = to_preprocessor_config(*info.recipe)) add("preprocessor_config", *json);
    if (config.num_channels == 3) add_image_keys(*info.recipe, metadata);
    PreprocessConfig recipe = *info.recipe;
    recipe.source = without_file_name(recipe.source, info.path);
    add("vit.recipe", dump(to_json(recipe)));
  }
  add("vit.format", "1");
  add("vit.config", dump(to_json(config)));
  add("vit.family", info.family);
  add("vit.architecture", info.architecture);
  add("vit.score_function", std::string(to_string(info.score_function)));
  add("vit.problem_type", info.problem_type);
  return metadata;
}

CheckpointInfo read_metadata(const std::filesystem::path& path, const ModelMetadata& metadata) {
  const MetadataReader reader(path, metadata);
  CheckpointInfo info;
  info.path = path;
  info.family = reader.text("vit.family");
  info.architecture = reader.text("vit.architecture");
  const std::string config_source = reader.source("vit.config");
  info.config =
      model_config_from_json(parse_json_object(reader.text("vit.config"), config_source), config_source);
  try {
    info.config.validate();
  } catch (const Error& e) {
    throw Error(ErrorCode::config_invalid, fmt::format("{}: {}", config_source, e.what()));
  }
  info.parameters = parameter_count(info.config);
  if (info.config.num_classes > 0) info.labels = read_labels(reader, info.config.num_classes);
  info.score_function = read_score_function(reader);
  info.problem_type = reader.text("vit.problem_type");
  if (reader.has("vit.recipe")) {
    const std::string source = reader.source("vit.recipe");
    info.recipe = preprocess_config_from_json(parse_json_object(reader.text("vit.recipe"), source), source);
    info.recipe->source += fmt::format(", {}", path.filename().string());
  } else {
    info.recipe_error =
        Error(ErrorCode::config_invalid,
              fmt::format("{}: the file carries no picture recipe: the checkpoint that it was made from "
                          "had none",
                          path.string()));
  }
  return info;
}

std::optional<std::string> to_preprocessor_config(const PreprocessConfig& recipe) {
  // Hugging Face's pipelines turn pictures upright, round as they do, and pad with black.
  const bool expressible = recipe.exif == Exif::apply && recipe.arithmetic != RecipeArithmetic::torchvision &&
                           recipe.resize != ResizeMode::cover && recipe.resize != ResizeMode::fit &&
                           recipe.fill == PreprocessConfig{}.fill;
  if (!expressible) return std::nullopt;
  const bool plain = recipe.resize != ResizeMode::shortest_edge && !recipe.crop;
  const char* processor = recipe.arithmetic == RecipeArithmetic::tensors ? "DINOv3ViTImageProcessor"
                          : plain                                        ? "ViTImageProcessor"
                                                                         : "BitImageProcessor";
  OrderedJson json{{"image_processor_type", processor},
                   {"do_convert_rgb", recipe.transparency == Transparency::colour_key_on_white},
                   {"do_resize", recipe.resize != ResizeMode::none}};
  switch (recipe.resize) {
    case ResizeMode::none:
    case ResizeMode::cover:
    case ResizeMode::fit:
      break;
    case ResizeMode::exact:
      json["size"] = height_width(recipe.size);
      break;
    case ResizeMode::shortest_edge:
      json["size"] = {{"shortest_edge", recipe.edge}};
      if (recipe.longest_edge) json["size"]["longest_edge"] = *recipe.longest_edge;
      break;
  }
  if (recipe.resize != ResizeMode::none) {
    constexpr std::array kPillow{Interpolation::nearest, Interpolation::lanczos, Interpolation::bilinear,
                                 Interpolation::bicubic, Interpolation::box,     Interpolation::hamming};
    json["resample"] = std::find(kPillow.begin(), kPillow.end(), recipe.interpolation) - kPillow.begin();
  }
  json["do_center_crop"] = recipe.crop.has_value();
  if (recipe.crop) json["crop_size"] = height_width(*recipe.crop);
  json["do_rescale"] = recipe.rescale;
  if (recipe.rescale) json["rescale_factor"] = recipe.rescale_factor;
  json["do_normalize"] = recipe.normalize;
  if (recipe.normalize) {
    json["image_mean"] = recipe.mean;
    json["image_std"] = recipe.std;
  }
  return dump(json, -1);
}

std::string to_config_json(const CheckpointInfo& info, const ModelConfig& config) {
  OrderedJson json = OrderedJson::object();
  const bool hugging_face = info.family.starts_with("hf_");
  if (!info.architecture.empty()) json["architectures"] = {info.architecture};
  json["model_type"] = hugging_face ? info.family.substr(3) : "vit";
  const auto [height, width] = config.image_size;
  json["image_size"] = height == width ? OrderedJson(height) : OrderedJson{height, width};
  const auto [patch_height, patch_width] = config.patch_size;
  json["patch_size"] =
      patch_height == patch_width ? OrderedJson(patch_height) : OrderedJson{patch_height, patch_width};
  json["num_channels"] = config.num_channels;
  json["hidden_size"] = config.hidden_size;
  json["num_hidden_layers"] = config.num_layers;
  json["num_attention_heads"] = config.num_heads;
  json["intermediate_size"] = config.mlp_size;
  json["layer_norm_eps"] = std::stod(fmt::format("{}", config.layer_norm_eps));
  if (config.num_classes > 0) {
    json["num_labels"] = config.num_classes;
    json["id2label"] = id2label(info.labels);
    OrderedJson& back = json["label2id"] = OrderedJson::object();
    for (std::int64_t i = 0; i < info.labels.size(); ++i) {
      if (info.labels.has_name(i)) back[info.labels.name(i)] = i;
    }
  }
  if (!info.problem_type.empty()) json["problem_type"] = info.problem_type;
  return dump(json, 2) + '\n';
}

bool is_utf8(std::string_view text) {
  try {
    static_cast<void>(Json(std::string(text)).dump());  // strict
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

Labels read_label_file(const std::filesystem::path& path, std::int64_t classes) {
  constexpr std::size_t kMaxBytes = std::size_t{64} << 20U;
  const std::vector<std::byte> bytes =
      read_file(path, kMaxBytes, FileErrors::all(ErrorCode::invalid_argument));
  std::string_view text = as_text(bytes);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  std::map<std::int64_t, std::string> names;
  std::int64_t count = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("{}: line {} is empty, expected one label on each line", path.string(), count + 1));
    }
    if (!is_utf8(line)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}: line {} is not UTF-8", path.string(), count + 1));
    }
    if (count < classes) names[count] = line;
    ++count;
  }
  if (count != classes) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: {} labels, one on each line, but the model has {} classes", path.string(),
                            count, classes));
  }
  return {classes, names};
}

}  // namespace vit::io
