#include "io/recipe_fields.hpp"

#include <fmt/format.h>

#include <cmath>

#include "vit/error.hpp"

namespace vit::io {

std::int64_t to_side(const Json& value, std::string_view key, JsonSource source) {
  constexpr std::int64_t kMaxSide = 16384;
  const std::int64_t side = to_int(value, key, source);
  if (side < 1 || side > kMaxSide)
    throw_unexpected(source, key, fmt::format("1 to {} pixels", kMaxSide), value);
  return side;
}

Interpolation read_interpolation(const Json& object, Interpolation otherwise, JsonSource source) {
  const std::string name = find_string(object, "interpolation", source).value_or("");
  if (name.empty()) return otherwise;
  for (const Interpolation filter : {Interpolation::nearest, Interpolation::lanczos, Interpolation::bilinear,
                                     Interpolation::bicubic, Interpolation::box, Interpolation::hamming}) {
    if (to_string(filter) == name) return filter;
  }
  throw Error(ErrorCode::model_unsupported,
              fmt::format("{}: \"interpolation\": \"{}\" is not supported; nearest, bilinear, bicubic, box, "
                          "hamming and lanczos are",
                          source.name, name));
}

Channels read_channels(const Json& object, const char* key, const Channels& otherwise, JsonSource source) {
  const Json* value = find_array(object, key, source);
  if (value == nullptr || value->empty()) return otherwise;
  Channels result{};
  if (value->size() != result.size()) throw_unexpected(source, key, "3 numbers (pictures are RGB)", *value);
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = to_number((*value)[i], fmt::format("{}[{}]", key, i), source);
    if (!std::isfinite(static_cast<float>(result[i])))
      throw_unexpected(source, key, "single-precision numbers", *value);
  }
  return result;
}

Channels read_divisors(const Json& object, const char* key, const Channels& otherwise, JsonSource source) {
  const Channels result = read_channels(object, key, otherwise, source);
  for (const double divisor : result) {
    if (static_cast<float>(divisor) == 0.0F) throw_unexpected(source, key, "no zeros", object.at(key));
  }
  return result;
}

PreprocessConfig torchvision_recipe(const Json& object, JsonSource source) {
  PreprocessConfig recipe;
  recipe.exif = Exif::ignore;
  recipe.transparency = Transparency::drop;
  recipe.arithmetic = RecipeArithmetic::torchvision;
  recipe.mean = read_channels(object, "mean", kImagenetMean, source);
  recipe.std = read_divisors(object, "std", kImagenetStd, source);
  return recipe;
}

}  // namespace vit::io
