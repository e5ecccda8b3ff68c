#include "apps/cmd_info.hpp"

#include <memory>
#include <nlohmann/json.hpp>

#include "apps/load_model.hpp"
#include "apps/output.hpp"
#include "io/checkpoint.hpp"

namespace vit::apps {
namespace {

using Json = nlohmann::ordered_json;

Json pair(Size2 size) {
  return {size.height, size.width};
}

Json config_json(const ModelConfig& c) {
  return {{"image_size", pair(c.image_size)},
          {"patch_size", pair(c.patch_size)},
          {"num_channels", c.num_channels},
          {"hidden_size", c.hidden_size},
          {"num_layers", c.num_layers},
          {"num_heads", c.num_heads},
          {"mlp_size", c.mlp_size},
          {"num_tokens", c.num_tokens(c.image_size)},
          {"activation", to_string(c.activation)},
          {"layer_norm_eps", c.layer_norm_eps},
          {"mlp", to_string(c.mlp)},
          {"patch_bias", c.patch_bias},
          {"qkv_bias", c.qkv_bias},
          {"key_bias", c.key_bias},
          {"qk_norm", c.qk_norm},
          {"attn_norm", c.attn_norm},
          {"mlp_norm", c.mlp_norm},
          {"layer_scale", c.layer_scale},
          {"class_token", c.class_token},
          {"distillation", to_string(c.distillation)},
          {"num_registers", c.num_registers},
          {"position_embedding", to_string(c.position_embedding)},
          {"position_resampling", to_string(c.position_resampling)},
          {"rotary", to_string(c.rotary)},
          {"rotary_layout", c.rotary == RotaryEmbedding::none ? Json() : Json(to_string(c.rotary_layout))},
          {"rotary_theta", c.rotary == RotaryEmbedding::none ? Json() : Json(c.rotary_theta)},
          {"rotary_order", c.rotary == RotaryEmbedding::none ? Json() : Json(to_string(c.rotary_order))},
          {"rotary_offset", c.rotary == RotaryEmbedding::none ? Json() : Json(c.rotary_offset)},
          {"relative_positions", to_string(c.relative_positions)},
          {"pre_norm", c.pre_norm},
          {"final_norm", to_string(c.final_norm)},
          {"pooling", to_string(c.pooling)},
          {"pooler_size", c.pooler_size},
          {"pooler_activation", c.pooler_size > 0 ? Json(to_string(c.pooler_activation)) : Json()},
          {"num_classes", c.num_classes},
          {"feature_size", c.feature_size()}};
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

Json info_json(const io::CheckpointInfo& info) {
  Json json{{"model", info.path.native()},
            {"family", info.family},
            {"architecture", info.architecture},
            {"config", config_json(info.config)},
            {"parameters", info.parameters},
            {"weights_bytes_fp32", 4 * info.parameters},
            {"precision", "fp32"},
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
  json["notes"] = info.notes;
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
  command.callback([options, &result] { result = run_info(*options); });
}

int run_info(const InfoOptions& options) {
  const bool only_named = !options.common.architecture.empty() && options.common.model.empty();
  const io::LoadOptions load = load_options(options.common);
  const io::CheckpointInfo info = only_named ? io::describe_architecture(load.architecture, load)
                                             : load_model(model_path(options.common), load).info;
  Output output({});
  if (options.format == "json") {
    output.write(info_json(info).dump(2, ' ', false, Json::error_handler_t::replace) + '\n');
  } else {
    output.write(io::describe(info) + '\n');
  }
  output.finish();
  return kOk;
}

}  // namespace vit::apps
