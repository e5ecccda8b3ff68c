// JSON text -> values, with limits, and getters whose errors say what was expected. Internal: only io/*.cpp
// include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "vit/error.hpp"

namespace vit::io {

using Json = nlohmann::json;

/// What messages call the text, and the code that its errors carry. Converts from a name alone.
/// Refers to the name, does not copy it. Passed by value: GCC 13 and later suspect references that come from
/// a function with a temporary argument.
struct JsonSource {
  JsonSource(std::string_view text_name, ErrorCode error_code = ErrorCode::config_invalid)
      : name(text_name), code(error_code) {}
  JsonSource(const std::string& text_name) : name(text_name) {}
  JsonSource(const char* text_name) : name(text_name) {}

  std::string_view name;
  ErrorCode code = ErrorCode::config_invalid;
};

/// What happens when an object has the same key twice.
enum class DuplicateKeys {
  last_wins,  ///< as Python's json module, which wrote and reads most of these files
  reject,     ///< an error
};

struct JsonLimits {
  std::size_t max_bytes = std::size_t{16} << 20;
  int max_depth = 64;  ///< arrays and objects inside each other
  DuplicateKeys duplicate_keys = DuplicateKeys::last_wins;
};

/// Parses one JSON value that fills the whole text (RFC 8259, UTF-8). The limits hold while parsing, so
/// hostile text costs neither stack nor more than a small multiple of its size in memory. Throws
/// Error(source.code) with the line and byte of the first mistake.
Json parse_json(std::string_view text, JsonSource source, const JsonLimits& limits = {});

/// As parse_json, and the value is an object.
Json parse_json_object(std::string_view text, JsonSource source, const JsonLimits& limits = {});

/// A value as messages show it: short, on one line.
std::string describe(const Json& value);

/// Throws Error(source.code): NAME: "KEY": expected EXPECTED, found FOUND.
[[noreturn]] void throw_unexpected(JsonSource source, std::string_view key, std::string_view expected,
                                   const Json& found);

// ------------------------------------------------------------------------------------------------
// Values of an object by their key. get_… throws where the key is missing or null; find_… gives nothing
// there. Both throw where the value is of another type. `object` must be an object.

/// The value, or nullptr where the key is missing or null. Points into `object`.
const Json* find(const Json& object, std::string_view key);

std::optional<bool> find_bool(const Json& object, std::string_view key, JsonSource source);
/// Whole numbers within 64 bits; 224.0 is one too.
std::optional<std::int64_t> find_int(const Json& object, std::string_view key, JsonSource source);
/// Finite numbers, whole or not.
std::optional<double> find_number(const Json& object, std::string_view key, JsonSource source);
std::optional<std::string> find_string(const Json& object, std::string_view key, JsonSource source);
const Json* find_array(const Json& object, std::string_view key, JsonSource source);
const Json* find_object(const Json& object, std::string_view key, JsonSource source);

bool get_bool(const Json& object, std::string_view key, JsonSource source);
std::int64_t get_int(const Json& object, std::string_view key, JsonSource source);
double get_number(const Json& object, std::string_view key, JsonSource source);
std::string get_string(const Json& object, std::string_view key, JsonSource source);
const Json& get_array(const Json& object, std::string_view key, JsonSource source);
const Json& get_object(const Json& object, std::string_view key, JsonSource source);

/// One value, e.g. of an array; `key` is what messages call it ("size[1]").
std::int64_t to_int(const Json& value, std::string_view key, JsonSource source);
double to_number(const Json& value, std::string_view key, JsonSource source);

}  // namespace vit::io
