#include "io/config_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <string>

#include "vit/config_fields.hpp"

namespace vit::io {
namespace {

std::string_view to_string(Exif exif) {
  return exif == Exif::apply ? "apply" : exif == Exif::ignore ? "ignore" : "?";
}

std::string_view to_string(Transparency transparency) {
  switch (transparency) {
    case Transparency::drop:
      return "drop";
    case Transparency::colour_key_on_white:
      return "colour_key_on_white";
  }
  return "?";
}

std::string_view to_string(ResizeMode mode) {
  switch (mode) {
    case ResizeMode::none:
      return "none";
    case ResizeMode::exact:
      return "exact";
    case ResizeMode::shortest_edge:
      return "shortest_edge";
    case ResizeMode::cover:
      return "cover";
    case ResizeMode::fit:
      return "fit";
  }
  return "?";
}

std::string_view to_string(RecipeArithmetic arithmetic) {
  switch (arithmetic) {
    case RecipeArithmetic::transformers:
      return "transformers";
    case RecipeArithmetic::torchvision:
      return "torchvision";
    case RecipeArithmetic::tensors:
      return "tensors";
  }
  return "?";
}

// ---- one field -> JSON

template <class T>
Json field_to_json(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return Json(std::string(to_string(value)));
  } else {
    return Json(value);
  }
}

Json field_to_json(const Size2& size) {
  return Json::array({size.height, size.width});
}

// A float's shortest text, 1e-12 rather than 9.999999960041972e-13.
Json field_to_json(float value) {
  return Json(std::stod(fmt::format("{}", value)));
}

template <class T>
Json field_to_json(const std::optional<T>& value) {
  return value ? field_to_json(*value) : Json();
}

// ---- and back

void field_from_json(const Json& json, std::string_view key, JsonSource source, bool& value) {
  if (!json.is_boolean()) throw_unexpected(source, key, "true or false", json);
  value = json.get<bool>();
}

void field_from_json(const Json& json, std::string_view key, JsonSource source, std::int64_t& value) {
  value = to_int(json, key, source);
}

void field_from_json(const Json& json, std::string_view key, JsonSource source, double& value) {
  value = to_number(json, key, source);
}

void field_from_json(const Json& json, std::string_view key, JsonSource source, float& value) {
  const double number = to_number(json, key, source);
  value = static_cast<float>(number);
  if (!std::isfinite(value)) throw_unexpected(source, key, "a single-precision number", json);
}

void field_from_json(const Json& json, std::string_view key, JsonSource source, std::string& value) {
  if (!json.is_string()) throw_unexpected(source, key, "text", json);
  value = json.get<std::string>();
}

void field_from_json(const Json& json, std::string_view key, JsonSource source, Size2& value) {
  if (!json.is_array() || json.size() != 2) throw_unexpected(source, key, "[height, width]", json);
  value = {to_int(json[0], key, source), to_int(json[1], key, source)};
}

void field_from_json(const Json& json, std::string_view key, JsonSource source,
                     std::array<double, 3>& value) {
  if (!json.is_array() || json.size() != value.size()) throw_unexpected(source, key, "3 numbers", json);
  for (std::size_t i = 0; i < value.size(); ++i) value[i] = to_number(json[i], key, source);
}

void field_from_json(const Json& json, std::string_view key, JsonSource source,
                     std::array<std::uint8_t, 3>& value) {
  if (!json.is_array() || json.size() != value.size()) throw_unexpected(source, key, "3 bytes", json);
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::int64_t byte = to_int(json[i], key, source);
    if (byte < 0 || byte > 255) throw_unexpected(source, key, "3 bytes", json);
    value[i] = static_cast<std::uint8_t>(byte);
  }
}

/// Enumerators are numbered from 0 without gaps; to_string gives "?" behind the last.
template <class T>
requires std::is_enum_v<T>
void field_from_json(const Json& json, std::string_view key, JsonSource source, T& value) {
  std::string known;
  for (int i = 0; to_string(static_cast<T>(i)) != "?"; ++i) {
    const std::string_view name = to_string(static_cast<T>(i));
    if (json.is_string() && json.get_ref<const std::string&>() == name) {
      value = static_cast<T>(i);
      return;
    }
    known += fmt::format("{}{}", i > 0 ? ", " : "", name);
  }
  throw_unexpected(source, key, known, json);
}

template <class T>
void field_from_json(const Json& json, std::string_view key, JsonSource source, std::optional<T>& value) {
  if (json.is_null()) {
    value.reset();
  } else {
    field_from_json(json, key, source, value.emplace());
  }
}

// ---- all of them

template <class Config, class Visit>
void for_each_recipe_field(Config& recipe, Visit&& visit) {
  // A new field does not compile until it is listed here.
  auto& [source, arithmetic, exif, transparency, resize, size, edge, longest_edge, interpolation, crop, fill,
         rescale, rescale_factor, normalize, mean, std] = recipe;
  visit("source", source);
  visit("arithmetic", arithmetic);
  visit("exif", exif);
  visit("transparency", transparency);
  visit("resize", resize);
  visit("size", size);
  visit("edge", edge);
  visit("longest_edge", longest_edge);
  visit("interpolation", interpolation);
  visit("crop", crop);
  visit("fill", fill);
  visit("rescale", rescale);
  visit("rescale_factor", rescale_factor);
  visit("normalize", normalize);
  visit("mean", mean);
  visit("std", std);
}

/// Reads fields off an object and keeps which of it there are.
class FieldReader {
 public:
  FieldReader(const Json& json, JsonSource source) : json_(json), source_(source) {
    if (!json.is_object()) throw_unexpected(source, "the whole", "an object", json);
  }

  template <class T>
  void operator()(std::string_view key, T& value) {
    known_.insert(std::string(key));
    const auto found = json_.find(key);
    if (found == json_.end())
      throw Error(source_.code, fmt::format("{}: \"{}\" is missing", source_.name, key));
    field_from_json(*found, key, source_, value);
  }

  void finish() const {
    for (const auto& [key, value] : json_.items()) {
      if (!known_.contains(key))
        throw Error(source_.code, fmt::format("{}: \"{}\" is not known to this version", source_.name, key));
    }
  }

 private:
  const Json& json_;
  JsonSource source_;
  std::set<std::string> known_;
};

/// What other code relies on in a recipe.
void check_recipe(const PreprocessConfig& recipe, JsonSource source) {
  constexpr std::int64_t kMaxSide = 1 << 20;  // as of ModelConfig's image size, which an export may ask for
  const auto side = [&](const char* key, std::int64_t value) {
    if (value < 1 || value > kMaxSide)
      throw_unexpected(source, key, fmt::format("1 to {} pixels", kMaxSide), value);
  };
  const auto number = [&](const char* key, double value, bool zero_allowed) {
    const auto single = static_cast<float>(value);
    if (!std::isfinite(single) || (single == 0.0F && !zero_allowed))
      throw_unexpected(source, key, zero_allowed ? "a single-precision number" : "no zeros", value);
  };
  side("size", recipe.size.height);
  side("size", recipe.size.width);
  side("edge", recipe.edge);
  if (recipe.longest_edge) side("longest_edge", *recipe.longest_edge);
  if (recipe.crop) {
    side("crop", recipe.crop->height);
    side("crop", recipe.crop->width);
  }
  number("rescale_factor", recipe.rescale_factor, true);
  for (const double mean : recipe.mean) number("mean", mean, true);
  for (const double std : recipe.std) {
    number("std", std, true);
    number("std", std, false);
  }
}

}  // namespace

Json to_json(const ModelConfig& config) {
  Json json = Json::object();
  for_each_field(config, [&](const char* key, const auto& value) { json[key] = field_to_json(value); });
  return json;
}

Json to_json(const PreprocessConfig& recipe) {
  Json json = Json::object();
  for_each_recipe_field(recipe,
                        [&](const char* key, const auto& value) { json[key] = field_to_json(value); });
  return json;
}

ModelConfig model_config_from_json(const Json& json, JsonSource source) {
  ModelConfig config;
  FieldReader reader(json, source);
  for_each_field(config, [&](const char* key, auto& value) { reader(key, value); });
  reader.finish();
  return config;
}

PreprocessConfig preprocess_config_from_json(const Json& json, JsonSource source) {
  PreprocessConfig recipe;
  FieldReader reader(json, source);
  for_each_recipe_field(recipe, [&](const char* key, auto& value) { reader(key, value); });
  reader.finish();
  check_recipe(recipe, source);
  return recipe;
}

}  // namespace vit::io
