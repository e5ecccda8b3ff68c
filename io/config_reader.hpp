// Reads config.json and remembers where each value came from. Internal.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/checkpoint.hpp"
#include "io/json.hpp"
#include "vit/config.hpp"

namespace vit::io {

/// Values of a Hugging Face config.json by their keys. A key that is missing or null has the default that the
/// configuration class gives it; a value of the wrong type is Error(config_invalid) naming key, expected,
/// found.
class ConfigReader {
 public:
  /// `name` is what messages call the file.
  ConfigReader(Json object, std::string name);

  /// For a config that no file holds: of an architecture by its name, whose sizes the weights may overrule.
  static ConfigReader named(Json object, std::string name) {
    ConfigReader reader(std::move(object), std::move(name));
    reader.from_config_ = reader.name_;
    reader.is_named_ = true;
    return reader;
  }
  bool is_named() const { return is_named_; }

  /// What `info` calls the place that defaults come from: "default of ViTConfig".
  void set_defaults_source(std::string_view class_name);

  std::int64_t integer(std::string_view key, std::int64_t otherwise);
  double number(std::string_view key, double otherwise);
  bool boolean(std::string_view key, bool otherwise);
  /// One number for both sides, or [height, width].
  Size2 size(std::string_view key, Size2 otherwise);
  /// By transformers' names; one that Vitrine lacks is Error(model_unsupported).
  Activation activation(std::string_view key, Activation otherwise);

  /// An object inside this one, {} if it is not there, as a reader of its own. Give its resolved() back with
  /// add_resolved().
  ConfigReader section(std::string_view key) const;
  void add_resolved(const ConfigReader& section);

  /// Without a default, and not remembered.
  std::optional<std::int64_t> find_integer(std::string_view key) const;
  std::optional<std::string> find_text(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  /// id2label: names by index; nothing if the config has none.
  std::optional<std::map<std::int64_t, std::string>> labels() const;

  /// Adds to what `info` shows, or says it anew.
  void note(std::string_view key, std::string value, std::string source);
  std::vector<ResolvedValue> resolved() const { return resolved_; }

  /// What `info` calls the config: "config.json", or the name of the architecture.
  const std::string& origin() const { return from_config_; }
  const Json& json() const { return object_; }
  const std::string& name() const { return name_; }
  /// Throws Error(code) with the file's name in front.
  [[noreturn]] void fail(ErrorCode code, std::string_view what) const;

 private:
  JsonSource source() const { return JsonSource(name_, ErrorCode::config_invalid); }

  Json object_;
  std::string name_;
  std::string from_config_ = "config.json";
  bool is_named_ = false;
  std::string defaults_source_ = "default";
  std::vector<ResolvedValue> resolved_;
};

}  // namespace vit::io
