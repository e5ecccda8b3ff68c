#include "io/timm_args.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "io/activation_names.hpp"
#include "io/ascii.hpp"

namespace vit::io {
namespace {

JsonSource source_of(const ConfigReader& config) {
  return JsonSource(config.name(), ErrorCode::config_invalid);
}

bool is_true(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>() != 0;
  return !value.is_null() && !value.empty();
}

/// What timm reads from pretrained_cfg where nothing else says it (_update_default_model_kwargs).
Json implied_by_pretrained_cfg(const ConfigReader& config, const Json& model_args) {
  const JsonSource source = source_of(config);
  Json implied = Json::object();
  const Json* nested = find_object(config.json(), "pretrained_cfg", source);
  const Json& cfg = nested != nullptr ? *nested : config.json();  // files of 2022 had no inner object
  for (const char* key : {"num_classes", "global_pool"}) {
    if (const Json* value = vit::io::find(cfg, key)) implied[key] = *value;
  }
  if (const Json* classes = vit::io::find(config.json(), "num_classes")) implied["num_classes"] = *classes;
  const Json* input = find_array(cfg, "input_size", source);
  if (input == nullptr) return implied;
  if (input->size() != 3) throw_unexpected(source, "input_size", "[channels, height, width]", *input);
  implied["in_chans"] = (*input)[0];
  const bool dynamic = find_bool(model_args, "dynamic_img_size", source).value_or(false);
  if (find_bool(cfg, "fixed_input_size", source).value_or(false) && !dynamic) {
    implied["img_size"] = Json::array({(*input)[1], (*input)[2]});
  }
  return implied;
}

}  // namespace

TimmArgs::TimmArgs(ConfigReader& config, const TimmArchitecture& architecture)
    : config_(config), architecture_(architecture) {
  const Json* given = find_object(config.json(), "model_args", source_of(config));
  Json model_args = given != nullptr ? *given : Json::object();
  Json implied = implied_by_pretrained_cfg(config, model_args);
  sources_.push_back({std::move(model_args), fmt::format("{} (model_args)", config.origin())});
  sources_.push_back(
      {parse_json_object(architecture.args, architecture.name), fmt::format("timm's {}", architecture.name)});
  sources_.push_back({std::move(implied), fmt::format("{} (pretrained_cfg)", config.origin())});
}

TimmArgs::Found TimmArgs::find(std::string_view key) {
  known_.emplace(key);
  for (const Source& source : sources_) {
    const auto at = source.values.find(key);
    if (at != source.values.end()) return {at->is_null() ? nullptr : &*at, source.name};
  }
  return {};
}

void TimmArgs::note(std::string_view key, std::string value, const Found& found) {
  config_.note(key, std::move(value),
               found.source.empty() ? fmt::format("default of timm's {}", architecture_.model_class)
                                    : std::string(found.source));
}

std::int64_t TimmArgs::integer(std::string_view key, std::int64_t otherwise) {
  const Found found = find(key);
  constexpr std::int64_t kMax = std::int64_t{1} << 30;  // products of two cannot overflow
  if (found.value != nullptr) otherwise = to_int(*found.value, key, source_of(config_));
  if (otherwise < -kMax || otherwise > kMax) {
    throw_unexpected(source_of(config_), key, "a whole number of reasonable size", *found.value);
  }
  note(key, std::to_string(otherwise), found);
  return otherwise;
}

double TimmArgs::number(std::string_view key, double otherwise) {
  const Found found = find(key);
  if (found.value != nullptr) otherwise = to_number(*found.value, key, source_of(config_));
  note(key, fmt::format("{}", otherwise), found);
  return otherwise;
}

bool TimmArgs::boolean(std::string_view key, bool otherwise) {
  const Found found = find(key);
  if (found.value != nullptr) {
    if (!found.value->is_boolean()) throw_unexpected(source_of(config_), key, "true or false", *found.value);
    otherwise = found.value->get<bool>();
  }
  note(key, otherwise ? "true" : "false", found);
  return otherwise;
}

std::string TimmArgs::text(std::string_view key, std::string_view otherwise) {
  const Found found = find(key);
  if (found.value != nullptr && !found.value->is_string())
    throw_unexpected(source_of(config_), key, "a string", *found.value);
  std::string value = found.value != nullptr ? found.value->get<std::string>() : std::string(otherwise);
  note(key, value, found);
  return value;
}

Size2 TimmArgs::size(std::string_view key, Size2 otherwise) {
  const Found found = find(key);
  if (found.value != nullptr) {
    const bool pair = found.value->is_array() && found.value->size() == 2;
    const Json& height = pair ? (*found.value)[0] : *found.value;
    const Json& width = pair ? (*found.value)[1] : *found.value;
    otherwise = {to_int(height, key, source_of(config_)), to_int(width, key, source_of(config_))};
  }
  note(key, fmt::format("[{}, {}]", otherwise.height, otherwise.width), found);
  return otherwise;
}

Activation TimmArgs::activation(std::string_view key, Activation otherwise) {
  const Found found = find(key);
  if (found.value == nullptr) {
    note(key, std::string(to_string(otherwise)), found);
    return otherwise;
  }
  const std::string name = found.value->is_string() ? to_lower(found.value->get<std::string>()) : "";
  const auto activation = find_activation(timm_activations(), name);
  if (!activation) {
    fail(ErrorCode::model_unsupported,
         fmt::format("\"{}\": the activation {} {}", key, describe(*found.value),
                     why_refused(timm_activations(), name)));
  }
  note(key, std::string(to_string(*activation)), found);
  return *activation;
}

TimmArgs::NormLayer TimmArgs::norm_layer(std::string_view key) {
  const Found found = find(key);
  NormLayer norm;
  if (found.value != nullptr) {
    const bool partial = found.value->is_array() && found.value->size() == 2;
    const Json& name = partial ? (*found.value)[0] : *found.value;
    std::string plain = name.is_string() ? to_lower(name.get<std::string>()) : "";
    std::erase(plain, '_');
    if (plain != "layernorm" && plain != "rmsnorm") {
      fail(ErrorCode::model_unsupported,
           fmt::format("\"{}\": the norm {} is not supported, layernorm and rmsnorm are", key,
                       describe(name)));
    }
    if (plain == "rmsnorm") norm.kind = NormKind::rms;
    if (partial)
      norm.epsilon = find_number((*found.value)[1], "eps", source_of(config_)).value_or(norm.epsilon);
  }
  note(key, std::string(to_string(norm.kind)), found);
  note(key == "norm_layer" ? "layer_norm_eps" : fmt::format("{} (eps)", key), fmt::format("{}", norm.epsilon),
       found);
  return norm;
}

TimmArgs::Layer TimmArgs::layer(std::string_view key, std::string_view otherwise,
                                std::initializer_list<std::string_view> known) {
  const Found found = find(key);
  Layer layer{.name = std::string(otherwise)};
  if (found.value != nullptr) {
    const bool partial = found.value->is_array() && found.value->size() == 2 && (*found.value)[1].is_object();
    const Json& name = partial ? (*found.value)[0] : *found.value;
    layer.name = name.is_string() ? name.get<std::string>() : describe(name);
    if (partial) layer.arguments = (*found.value)[1];
  }
  for (const auto& [argument, value] : layer.arguments.items()) {
    if (std::find(known.begin(), known.end(), argument) == known.end()) {
      fail(ErrorCode::model_unsupported,
           fmt::format("\"{}\": {} with the argument \"{}\" is not supported", key, layer.name, argument));
    }
  }
  note(key, layer.name, found);
  return layer;
}

std::vector<std::int64_t> TimmArgs::integers(std::string_view key, std::int64_t count) {
  const Found found = find(key);
  if (found.value == nullptr) return {};
  const JsonSource source = source_of(config_);
  std::vector<std::int64_t> values;
  if (found.value->is_array()) {
    for (const Json& value : *found.value) values.push_back(to_int(value, key, source));
    if (std::ssize(values) != count)
      throw_unexpected(source, key, fmt::format("a number, or {} of them", count), *found.value);
  } else if (count >= 0 && count <= 4096) {  // more layers are refused elsewhere
    values.assign(static_cast<std::size_t>(count), to_int(*found.value, key, source));
  }
  note(key, found.value->dump(), found);
  return values;
}

TimmArgs::MlpLayer TimmArgs::mlp_layer(std::string_view key) {
  const Found found = find(key);
  MlpLayer layer{.name = "Mlp"};
  if (found.value != nullptr) {
    const bool partial = found.value->is_array() && found.value->size() == 2;
    const Json& name = partial ? (*found.value)[0] : *found.value;
    layer.name = name.is_string() ? name.get<std::string>() : describe(name);
    if (partial)
      layer.gate_last = find_bool((*found.value)[1], "gate_last", source_of(config_)).value_or(true);
  }
  note(key, layer.name, found);
  return layer;
}

bool TimmArgs::is_set(std::string_view key) {
  const Found found = find(key);
  return found.value != nullptr && is_true(*found.value);
}

void TimmArgs::refuse(std::string_view key) {
  if (!is_set(key)) return;
  const Found found = find(key);
  fail(ErrorCode::model_unsupported,
       fmt::format("\"{}\": {} ({}) is not supported", key, describe(*found.value), found.source));
}

void TimmArgs::allow(std::initializer_list<std::string_view> keys) {
  known_.insert(keys.begin(), keys.end());
}

void TimmArgs::finish() const {
  std::vector<std::string> unknown;
  for (const Source& source : sources_) {
    for (const auto& [key, value] : source.values.items()) {
      if (!known_.contains(key)) unknown.push_back(fmt::format("\"{}\" ({})", key, source.name));
    }
  }
  if (unknown.empty()) return;
  fail(ErrorCode::model_unsupported, fmt::format("these arguments of timm's {} are not supported: {}",
                                                 architecture_.model_class, fmt::join(unknown, ", ")));
}

}  // namespace vit::io
