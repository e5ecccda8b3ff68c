#include "apps/cmd_info.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>

#include "apps/load_model.hpp"
#include "apps/output.hpp"
#include "io/checkpoint.hpp"
#include "io/diagnosis.hpp"
#include "vit/config_fields.hpp"
#include "vit/memory_use.hpp"

namespace vit::apps {
namespace {

using Json = nlohmann::ordered_json;

Json pair(Size2 size) {
  return {size.height, size.width};
}

Json field_json(const Size2& size) {
  return pair(size);
}

template <class T>
Json field_json(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return Json(to_string(value));
  } else if constexpr (std::is_same_v<T, float>) {
    return Json(std::stod(fmt::format("{}", value)));  // 1e-06, not the double nearest to the float
  } else {
    return Json(value);
  }
}

/// All fields; null where the network has not got what they are about.
Json config_json(const ModelConfig& config) {
  Json json = Json::object();
  for_each_field(config, [&](std::string_view name, const auto& field) { json[name] = field_json(field); });
  if (config.rotary == RotaryEmbedding::none) {
    for (const char* name : {"rotary_layout", "rotary_theta", "rotary_order", "rotary_offset", "rotary_grid"})
      json[name] = nullptr;
  }
  if (config.pooler_size == 0) json["pooler_activation"] = nullptr;
  json["num_tokens"] = config.num_tokens(config.image_size);
  json["feature_size"] = config.feature_size();
  return json;
}

Json recipe_json(const io::PreprocessConfig& r) {
  Json json{{"source", r.source}, {"exif", r.exif == io::Exif::apply ? "apply" : "ignore"}};
  switch (r.resize) {
    case io::ResizeMode::none:
      json["resize"] = nullptr;
      break;
    case io::ResizeMode::exact:
      json["resize"] = {{"size", pair(r.size)}};
      break;
    case io::ResizeMode::shortest_edge:
      json["resize"] = {{"shortest_edge", r.edge}};
      break;
    case io::ResizeMode::cover:
      json["resize"] = {{"cover", pair(r.size)}};
      break;
    case io::ResizeMode::fit:
      json["resize"] = {{"fit", pair(r.size)}};
      break;
  }
  if (r.resize != io::ResizeMode::none) json["resize"]["interpolation"] = io::to_string(r.interpolation);
  json["center_crop"] = r.crop ? pair(*r.crop) : Json();
  json["fill"] = r.fill;
  json["rescale_factor"] = r.rescale ? Json(r.rescale_factor) : Json();
  json["mean"] = r.normalize ? Json(r.mean) : Json();
  json["std"] = r.normalize ? Json(r.std) : Json();
  return json;
}

Json labels_json(const io::Labels& labels) {
  Json names = Json::array();
  for (std::int64_t i = 0; i < labels.size(); ++i) names.push_back(labels.name(i));
  return names;
}

constexpr std::array<Precision, 3> kPrecisions{Precision::fp32, Precision::bf16, Precision::int8};

/// Of the pictures that the recipe gives; {0, 0}, the model's own, where it does not say.
Size2 picture_size(const io::CheckpointInfo& info) {
  return info.recipe ? io::fixed_size(*info.recipe).value_or(Size2{}) : Size2{};
}

Json memory_json(const io::CheckpointInfo& info) {
  Json json = Json::object();
  for (const Precision precision : kPrecisions) {
    const MemoryUse use = memory_use(info.config, precision, picture_size(info));
    const std::string shortage = processor_shortage(precision);
    json[std::string(to_string(precision))] = {{"weights_bytes", use.weights},
                                               {"workspace_bytes", use.workspace},
                                               {"shortage", shortage.empty() ? Json() : Json(shortage)}};
  }
  return json;
}

/// "memory in fp32: 88.2 MB of weights, 1.9 MB for each picture in the network"
std::string memory_text(const io::CheckpointInfo& info) {
  std::string text;
  for (const Precision precision : kPrecisions) {
    const MemoryUse use = memory_use(info.config, precision, picture_size(info));
    const std::string shortage = processor_shortage(precision);
    text += fmt::format("memory in {}: {:.1f} MB of weights, {:.1f} MB for each picture in the network{}\n",
                        to_string(precision), static_cast<double>(use.weights) / 1e6,
                        static_cast<double>(use.workspace) / 1e6, shortage.empty() ? "" : "; " + shortage);
  }
  return text;
}

Json warnings_json(const io::CheckpointInfo& info) {
  Json json = Json::array();
  for (const io::Warning& warning : io::diagnose(info))
    json.push_back({{"topic", warning.topic}, {"message", warning.text}});
  return json;
}

std::string warnings_text(const io::CheckpointInfo& info) {
  std::string text;
  for (const io::Warning& warning : io::diagnose(info))
    text += fmt::format("warning ({}): {}\n", warning.topic, warning.text);
  return text;
}

Json info_json(const io::CheckpointInfo& info) {
  Json json{{"model", info.path.native()},
            {"family", info.family},
            {"architecture", info.architecture},
            {"config", config_json(info.config)},
            {"parameters", info.parameters},
            {"weights_bytes_fp32", 4 * info.parameters},
            {"precision", to_string(info.precision)},
            {"stored_dtype", info.stored_dtype}};
  json["tensors"] = Json::object();
  for (const TensorSpec& tensor : info.tensors) json["tensors"][tensor.name] = tensor.shape;
  json["weight_files"] = Json::array();
  for (const auto& file : info.weight_files) json["weight_files"].push_back(file.native());
  json["recipe"] = info.recipe ? recipe_json(*info.recipe) : Json();
  if (info.recipe_error) json["recipe_error"] = info.recipe_error->what();
  json["score_function"] = to_string(info.score_function);
  json["labels"] = labels_json(info.labels);
  json["resolved"] = Json::array();
  for (const io::ResolvedValue& v : info.resolved) {
    json["resolved"].push_back({{"key", v.key}, {"value", v.value}, {"source", v.source}});
  }
  json["ignored_tensors"] = info.ignored;
  json["unmatched_tensors"] = info.unmatched;
  json["memory"] = memory_json(info);
  json["notes"] = info.notes;
  json["warnings"] = warnings_json(info);
  return json;
}

}  // namespace

void add_info(CLI::App& app, int& result) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App& command = *app.add_subcommand("info", "show what was resolved from a checkpoint, and why");
  add_model_option(command, options->common);
  add_label_option(command, options->common);
  add_thread_option(command, options->common);  // common to all subcommands; nothing is computed here
  add_verbosity_options(command, options->common);
  command.add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  set_examples(
      command,
      {"vitrine info -m my-model",
       "vitrine info --arch vit_base_patch16_224 --format json  # an architecture, without weights"});
  command.callback([options, &result] { result = run_info(*options); });
}

int run_info(const InfoOptions& options) {
  const io::LoadOptions load = load_options(options.common);
  const io::CheckpointInfo info = names_no_weights(options.common)
                                      ? io::describe_architecture(load.architecture, load)
                                      : load_model(model_path(options.common), load).info;
  Output output({});
  if (options.format == "json") {
    output.write(info_json(info).dump(2, ' ', false, Json::error_handler_t::replace) + '\n');
  } else {
    output.write(io::describe(info) + '\n' + memory_text(info) + warnings_text(info));
  }
  output.finish();
  return kOk;
}

}  // namespace vit::apps
