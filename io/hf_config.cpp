#include "io/hf_config.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "io/config_json.hpp"
#include "io/config_reader.hpp"
#include "io/weight_files.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

Json sides(Size2 size) {
  return size.height == size.width ? Json(size.height) : Json{size.height, size.width};
}

/// The shortest decimal that reads back as the same float: 1e-06, not 9.999999974752427e-07.
double shortest(float value) {
  return std::stod(fmt::format("{}", value));
}

std::string_view hf_name(Activation activation) {
  switch (activation) {
    case Activation::gelu_tanh:
      return "gelu_pytorch_tanh";
    case Activation::identity:
      return "linear";
    default:
      return to_string(activation);
  }
}

Json encoder(const ModelConfig& model) {
  return {{"image_size", sides(model.image_size)},   {"patch_size", sides(model.patch_size)},
          {"num_channels", model.num_channels},      {"hidden_size", model.hidden_size},
          {"num_hidden_layers", model.num_layers},   {"num_attention_heads", model.num_heads},
          {"hidden_act", hf_name(model.activation)}, {"layer_norm_eps", shortest(model.layer_norm_eps)}};
}

void add_labels(const Labels& labels, Json& config) {
  config["num_labels"] = labels.size();
  Json& names = config["id2label"] = Json::object();
  Json& numbers = config["label2id"] = Json::object();
  for (std::int64_t i = 0; i < labels.size(); ++i) {
    names[std::to_string(i)] = labels.name(i);
    numbers[labels.name(i)] = i;
  }
}

Json vit_config(const CheckpointInfo& info) {
  Json config = encoder(info.config);
  const bool classifier = info.config.num_classes > 0;
  config["model_type"] = "vit";
  config["architectures"] = {classifier ? "ViTForImageClassification" : "ViTModel"};
  config["intermediate_size"] = info.config.mlp_size;
  config["qkv_bias"] = info.config.qkv_bias;
  if (classifier) add_labels(info.labels, config);
  return config;
}

Json dinov2_config(const ModelConfig& model) {
  const bool registers = model.num_registers > 0;
  Json config = encoder(model);
  config["model_type"] = registers ? "dinov2_with_registers" : "dinov2";
  config["architectures"] = {registers ? "Dinov2WithRegistersModel" : "Dinov2Model"};
  config["qkv_bias"] = model.qkv_bias;
  if (registers) config["num_register_tokens"] = model.num_registers;
  config["use_swiglu_ffn"] = model.mlp == Mlp::gated;
  if (model.mlp == Mlp::gated) {
    // Two thirds of the width that this gives, rounded up to 8. A whole number: others are not read.
    config["mlp_ratio"] = 3 * model.mlp_size / (2 * model.hidden_size);
  } else {
    config["mlp_ratio"] = model.mlp_size / model.hidden_size;
  }
  return config;
}

Json dinov3_config(const ModelConfig& model) {
  Json config = encoder(model);
  config["model_type"] = "dinov3_vit";
  config["architectures"] = {"DINOv3ViTModel"};
  config["intermediate_size"] = model.mlp_size;
  config["query_bias"] = config["value_bias"] = model.qkv_bias;
  config["key_bias"] = model.qkv_bias && model.key_bias;
  config["proj_bias"] = config["mlp_bias"] = model.proj_bias;
  config["use_gated_mlp"] = model.mlp == Mlp::gated;
  config["num_register_tokens"] = model.num_registers;
  config["rope_theta"] = model.rotary_theta;
  return config;
}

/// The name of a field that keeps two networks apart; empty for the same network.
std::string difference(ModelConfig a, const ModelConfig& b) {
  a.position_resampling = b.position_resampling;  // how tables serve other grids is not the network's
  const Json ours = to_json(a);
  const Json theirs = to_json(b);
  for (const auto& [name, value] : ours.items()) {
    if (value != theirs.at(name)) return name;
  }
  return "";
}

}  // namespace

HfModel to_hf_model(const CheckpointInfo& info) {
  const ModelConfig& model = info.config;
  HfModel result;
  if (model.rotary != RotaryEmbedding::none) {
    result.config = dinov3_config(model);
    result.mask_token = {"embeddings.mask_token", {1, 1, model.hidden_size}};
  } else if (model.layer_scale) {
    result.config = dinov2_config(model);
    result.mask_token = {"embeddings.mask_token", {1, model.hidden_size}};
  } else {
    result.config = vit_config(info);
  }
  const WeightFiles none;
  ConfigReader reader(result.config, "config.json");
  const Family& family = select_family(reader, none);
  FamilyConfig read = family.read_config(reader, none);
  if (const std::string field = difference(read.model, model); !field.empty()) {
    throw Error(ErrorCode::model_unsupported,
                fmt::format("{}: transformers has no {} with this network's {}", info.path.string(),
                            result.config["model_type"].get<std::string>(), field));
  }
  result.names = names_of(read, family);
  // A model without a head has no prefix; the prefix's absence stands last.
  const std::size_t base = model.num_classes > 0 ? 0 : result.names.bases.size() - 1;
  for (const NameRule& rule : result.names.rules) result.choices[std::string(rule.canonical)].base = base;
  if (model.layer_scale && model.rotary == RotaryEmbedding::none && model.mlp == Mlp::gated) {
    for (const char* layer : {"blocks.*.mlp.fc1", "blocks.*.mlp.fc2"}) result.choices[layer].spelling = 1;
  }
  return result;
}

}  // namespace vit::io
