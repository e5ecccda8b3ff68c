#include "io/config_reader.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "io/activation_names.hpp"

namespace vit::io {
namespace {

/// Far beyond every real value, and small enough that sums and products of two cannot overflow.
constexpr std::int64_t kMaxValue = std::int64_t{1} << 30;

bool in_range(std::int64_t value) {
  return value >= -kMaxValue && value <= kMaxValue;
}

constexpr std::string_view kWholeNumber = "a whole number of reasonable size";

std::string to_text(Size2 size) {
  return fmt::format("[{}, {}]", size.height, size.width);
}

}  // namespace

ConfigReader::ConfigReader(Json object, std::string name)
    : object_(std::move(object)), name_(std::move(name)) {}

void ConfigReader::set_defaults_source(std::string_view class_name) {
  defaults_source_ = fmt::format("default of {}", class_name);
}

void ConfigReader::fail(ErrorCode code, std::string_view what) const {
  throw Error(code, fmt::format("{}: {}", name_, what));
}

void ConfigReader::note(std::string_view key, std::string value, std::string source) {
  const auto same =
      std::find_if(resolved_.begin(), resolved_.end(), [&](const ResolvedValue& v) { return v.key == key; });
  ResolvedValue resolved{std::string(key), std::move(value), std::move(source)};
  if (same == resolved_.end()) {
    resolved_.push_back(std::move(resolved));
  } else {
    *same = std::move(resolved);
  }
}

std::int64_t ConfigReader::integer(std::string_view key, std::int64_t otherwise) {
  const auto found = find_integer(key);
  note(key, std::to_string(found.value_or(otherwise)), found ? from_config_ : defaults_source_);
  return found.value_or(otherwise);
}

double ConfigReader::number(std::string_view key, double otherwise) {
  const auto found = find_number(object_, key, source());
  note(key, fmt::format("{}", found.value_or(otherwise)), found ? from_config_ : defaults_source_);
  return found.value_or(otherwise);
}

bool ConfigReader::boolean(std::string_view key, bool otherwise) {
  const auto found = find_bool(object_, key, source());
  note(key, found.value_or(otherwise) ? "true" : "false", found ? from_config_ : defaults_source_);
  return found.value_or(otherwise);
}

Size2 ConfigReader::size(std::string_view key, Size2 otherwise) {
  const Json* value = find(object_, key);
  if (value == nullptr) {
    note(key, to_text(otherwise), defaults_source_);
    return otherwise;
  }
  constexpr std::string_view kExpected = "a whole number of reasonable size, or [height, width]";
  Size2 size;
  if (value->is_array()) {
    if (value->size() != 2) throw_unexpected(source(), key, kExpected, *value);
    size = {to_int((*value)[0], fmt::format("{}[0]", key), source()),
            to_int((*value)[1], fmt::format("{}[1]", key), source())};
  } else {
    if (!value->is_number()) throw_unexpected(source(), key, kExpected, *value);
    const std::int64_t side = to_int(*value, key, source());
    size = {side, side};
  }
  if (!in_range(size.height) || !in_range(size.width)) throw_unexpected(source(), key, kExpected, *value);
  note(key, to_text(size), from_config_);
  return size;
}

Activation ConfigReader::activation(std::string_view key, Activation otherwise) {
  const auto name = find_string(object_, key, source());
  if (!name) {
    note(key, std::string(to_string(otherwise)), defaults_source_);
    return otherwise;
  }
  const auto activation = find_activation(transformers_activations(), *name);
  if (!activation) {
    fail(ErrorCode::model_unsupported, fmt::format("\"{}\": the activation \"{}\" {}", key, *name,
                                                   why_refused(transformers_activations(), *name)));
  }
  const std::string_view canonical = to_string(*activation);
  note(key, canonical == *name ? *name : fmt::format("{} ({})", canonical, *name), from_config_);
  return *activation;
}

ConfigReader ConfigReader::section(std::string_view key) const {
  const Json* object = find_object(object_, key, source());
  ConfigReader inner(object == nullptr ? Json::object() : *object, fmt::format("{}: \"{}\"", name_, key));
  inner.from_config_ = from_config_;
  return inner;
}

void ConfigReader::add_resolved(const ConfigReader& section) {
  resolved_.insert(resolved_.end(), section.resolved_.begin(), section.resolved_.end());
}

std::optional<std::int64_t> ConfigReader::find_integer(std::string_view key) const {
  const auto found = find_int(object_, key, source());
  if (found && !in_range(*found)) throw_unexpected(source(), key, kWholeNumber, *find(object_, key));
  return found;
}

std::optional<std::string> ConfigReader::find_text(std::string_view key) const {
  return find_string(object_, key, source());
}

std::vector<std::string> ConfigReader::texts(std::string_view key) const {
  std::vector<std::string> texts;
  const Json* array = find_array(object_, key, source());
  if (array == nullptr) return texts;
  for (const Json& text : *array) {
    if (!text.is_string()) throw_unexpected(source(), key, "an array of strings", *array);
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

std::optional<std::map<std::int64_t, std::string>> ConfigReader::labels() const {
  const Json* object = find_object(object_, "id2label", source());
  if (object == nullptr) return std::nullopt;
  std::map<std::int64_t, std::string> labels;
  for (const auto& [key, label] : object->items()) {
    std::int64_t index = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    if (error != std::errc() || end != key.data() + key.size() || index < 0 || !in_range(index)) {
      fail(ErrorCode::config_invalid,
           fmt::format("\"id2label\": expected whole numbers from 0 as keys, found \"{}\"", key));
    }
    if (!label.is_string()) throw_unexpected(source(), fmt::format("id2label[{}]", key), "a string", label);
    if (!labels.emplace(index, label.get<std::string>()).second) {
      fail(ErrorCode::config_invalid, fmt::format("\"id2label\": two keys mean class {}", index));
    }
  }
  return labels;
}

}  // namespace vit::io
