#include "io/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace vit::io {
namespace {

/// Builds the value event by event. nlohmann's own builder has no limit on depth and knows no duplicate keys.
class Builder : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string_view text, JsonSource source, const JsonLimits& limits)
      : text_(text), source_(source), limits_(limits) {}

  Json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // not in JSON text
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    auto [slot, fresh] = open_.back()->get_ref<Json::object_t&>().try_emplace(name);
    if (!fresh && limits_.duplicate_keys == DuplicateKeys::reject) {
      throw Error(source_.code, fmt::format("{}: the key \"{}\" appears twice", source_.name, name));
    }
    member_ = &slot->second;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // nlohmann counts the byte that it could not accept, from 1; at the end of the text it is one beyond.
    const std::size_t byte = std::min(position > 0 ? position - 1 : 0, text_.size());
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(byte), '\n');
    std::string_view reason = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 3: syntax error while …": the last part
    if (const auto at = reason.find(": "); at != std::string_view::npos) reason.remove_prefix(at + 2);
    throw Error(source_.code,
                fmt::format("{}: not valid JSON: line {}, byte {}: {}", source_.name, line, byte, reason));
  }

 private:
  /// The place of the next value: the root, the end of the open array, or the key just read.
  template <class Value>
  Json& place(Value&& value) {
    if (open_.empty()) return root_ = std::forward<Value>(value);
    if (open_.back()->is_array()) {
      auto& array = open_.back()->template get_ref<Json::array_t&>();
      return array.emplace_back(std::forward<Value>(value));
    }
    return *member_ = std::forward<Value>(value);
  }

  template <class Value>
  bool put(Value&& value) {
    place(std::forward<Value>(value));
    return true;
  }

  bool open(Json container) {
    if (open_.size() >= static_cast<std::size_t>(limits_.max_depth)) {
      throw Error(source_.code, fmt::format("{}: arrays and objects nest deeper than {} levels", source_.name,
                                            limits_.max_depth));
    }
    // Stays valid while the container is open: its parent grows only after it is closed.
    open_.push_back(&place(std::move(container)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  JsonSource source_;
  const JsonLimits& limits_;
  Json root_;
  std::vector<Json*> open_;  ///< from the root inwards
  Json* member_ = nullptr;   ///< value of the key just read
};

constexpr std::size_t kShownBytes = 60;

std::string shortened(std::string text) {
  if (text.size() <= kShownBytes) return text;
  std::size_t end = kShownBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;  // not inside a UTF-8 character
  return text.substr(0, end) + "…";
}

bool is_scalar(const Json& value) {
  return !value.is_structured();
}

[[noreturn]] void throw_missing(JsonSource source, std::string_view key, std::string_view expected) {
  throw Error(source.code, fmt::format("{}: \"{}\" is missing, expected {}", source.name, key, expected));
}

constexpr std::string_view kWholeNumber = "a whole number";
constexpr std::string_view kNumber = "a finite number";

}  // namespace

Json parse_json(std::string_view text, JsonSource source, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    throw Error(source.code, fmt::format("{}: {} bytes of JSON, more than the limit of {}", source.name,
                                         text.size(), limits.max_bytes));
  }
  Builder builder(text, source, limits);
  Json::sax_parse(text, &builder);  // Builder throws where this would return false
  return builder.take();
}

Json parse_json_object(std::string_view text, JsonSource source, const JsonLimits& limits) {
  Json value = parse_json(text, source, limits);
  if (!value.is_object()) {
    throw Error(source.code,
                fmt::format("{}: expected a JSON object, found {}", source.name, describe(value)));
  }
  return value;
}

std::string describe(const Json& value) {
  if (value.is_object()) {
    if (value.size() > 4 || !std::all_of(value.begin(), value.end(), is_scalar)) return "an object";
  } else if (value.is_array()) {
    if (value.size() > 8 || !std::all_of(value.begin(), value.end(), is_scalar)) {
      return fmt::format("an array of {}", value.size());
    }
  } else if (value.is_string() && value.get_ref<const std::string&>().size() > kShownBytes) {
    return shortened('"' + value.get_ref<const std::string&>()) + '"';
  }
  return shortened(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void throw_unexpected(JsonSource source, std::string_view key, std::string_view expected, const Json& found) {
  throw Error(source.code,
              fmt::format("{}: \"{}\": expected {}, found {}", source.name, key, expected, describe(found)));
}

const Json* find(const Json& object, std::string_view key) {
  const auto& members = object.get_ref<const Json::object_t&>();
  const auto at = members.find(key);
  return at == members.end() || at->second.is_null() ? nullptr : &at->second;
}

std::int64_t to_int(const Json& value, std::string_view key, JsonSource source) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (std::in_range<std::int64_t>(number)) return static_cast<std::int64_t>(number);
  } else if (value.is_number_integer()) {
    return value.get<std::int64_t>();
  } else if (value.is_number_float()) {
    const auto number = value.get<double>();
    if (number == std::trunc(number) && std::abs(number) <= 0x1p53) return static_cast<std::int64_t>(number);
  }
  throw_unexpected(source, key, kWholeNumber, value);
}

double to_number(const Json& value, std::string_view key, JsonSource source) {
  if (!value.is_number() || !std::isfinite(value.get<double>()))
    throw_unexpected(source, key, kNumber, value);
  return value.get<double>();
}

std::optional<bool> find_bool(const Json& object, std::string_view key, JsonSource source) {
  const Json* value = find(object, key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) throw_unexpected(source, key, "true or false", *value);
  return value->get<bool>();
}

std::optional<std::int64_t> find_int(const Json& object, std::string_view key, JsonSource source) {
  const Json* value = find(object, key);
  return value == nullptr ? std::nullopt : std::optional(to_int(*value, key, source));
}

std::optional<double> find_number(const Json& object, std::string_view key, JsonSource source) {
  const Json* value = find(object, key);
  return value == nullptr ? std::nullopt : std::optional(to_number(*value, key, source));
}

std::optional<std::string> find_string(const Json& object, std::string_view key, JsonSource source) {
  const Json* value = find(object, key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) throw_unexpected(source, key, "a string", *value);
  return value->get<std::string>();
}

const Json* find_array(const Json& object, std::string_view key, JsonSource source) {
  const Json* value = find(object, key);
  if (value != nullptr && !value->is_array()) throw_unexpected(source, key, "an array", *value);
  return value;
}

const Json* find_object(const Json& object, std::string_view key, JsonSource source) {
  const Json* value = find(object, key);
  if (value != nullptr && !value->is_object()) throw_unexpected(source, key, "an object", *value);
  return value;
}

bool get_bool(const Json& object, std::string_view key, JsonSource source) {
  const auto value = find_bool(object, key, source);
  if (!value) throw_missing(source, key, "true or false");
  return *value;
}

std::int64_t get_int(const Json& object, std::string_view key, JsonSource source) {
  const auto value = find_int(object, key, source);
  if (!value) throw_missing(source, key, kWholeNumber);
  return *value;
}

double get_number(const Json& object, std::string_view key, JsonSource source) {
  const auto value = find_number(object, key, source);
  if (!value) throw_missing(source, key, kNumber);
  return *value;
}

std::string get_string(const Json& object, std::string_view key, JsonSource source) {
  auto value = find_string(object, key, source);
  if (!value) throw_missing(source, key, "a string");
  return *std::move(value);
}

const Json& get_array(const Json& object, std::string_view key, JsonSource source) {
  const Json* value = find_array(object, key, source);
  if (value == nullptr) throw_missing(source, key, "an array");
  return *value;
}

const Json& get_object(const Json& object, std::string_view key, JsonSource source) {
  const Json* value = find_object(object, key, source);
  if (value == nullptr) throw_missing(source, key, "an object");
  return *value;
}

}  // namespace vit::io
