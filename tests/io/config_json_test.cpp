// ModelConfig and PreprocessConfig -> JSON -> the same.
#include "io/config_json.hpp"

#include <gtest/gtest.h>

#include "tests/support/expect_error.hpp"
#include "tests/vit/network_cases.hpp"
#include "vit/config_fields.hpp"

namespace vit::io {
namespace {

constexpr auto kInvalid = ErrorCode::config_invalid;

/// By way of text, as files have it.
Json through_text(const Json& json) {
  return parse_json_object(json.dump(), "text");
}

std::string text_of(const ModelConfig& config) {
  return to_json(config).dump();
}

TEST(ConfigJson, ModelConfigsComeBack) {
  for (const test::NetworkCase& c : test::network_cases()) {
    const ModelConfig back = model_config_from_json(through_text(to_json(c.config)), "here");
    EXPECT_EQ(text_of(back), text_of(c.config)) << c.name;
    EXPECT_EQ(back.layer_norm_eps, c.config.layer_norm_eps) << c.name;  // to the last bit
    EXPECT_NO_THROW(back.validate()) << c.name;
  }
}

TEST(ConfigJson, EveryFieldOfAModelIsKept) {
  // Each field by itself set to something else must change the text, and come back.
  const ModelConfig standard;
  int fields = 0;
  for_each_field(standard, [&](const char* key, const auto&) {
    ModelConfig changed;
    for_each_field(changed, [&](const char* other, auto& value) {
      using T = std::decay_t<decltype(value)>;
      if (std::string_view(other) != key) return;
      if constexpr (std::is_same_v<T, Size2>)
        value.width += 7;
      else if constexpr (std::is_same_v<T, bool>)
        value = !value;
      else if constexpr (std::is_enum_v<T>)
        value = static_cast<T>(value == T{} ? 1 : 0);
      else
        value = value + 3;
    });
    EXPECT_NE(text_of(changed), text_of(standard)) << key;
    EXPECT_EQ(text_of(model_config_from_json(through_text(to_json(changed)), "here")), text_of(changed))
        << key;
    ++fields;
  });
  EXPECT_EQ(static_cast<std::size_t>(fields), to_json(standard).size());
}

TEST(ConfigJson, NumbersAreTheShortestThatMeanTheSame) {
  ModelConfig config;
  for (const char* eps : {"1e-12", "1e-06", "1e-05", "0.1", "0.001", "1e-45", "3.4028235e+38"}) {
    config.layer_norm_eps = std::strtof(eps, nullptr);
    EXPECT_EQ(to_json(config)["layer_norm_eps"].dump(), Json::parse(eps).dump());
    EXPECT_EQ(model_config_from_json(through_text(to_json(config)), "here").layer_norm_eps,
              config.layer_norm_eps);
  }
}

TEST(ConfigJson, RefusesWhatIsMissingUnknownOrOfAnotherType) {
  const Json good = to_json(ModelConfig{});
  for (const auto& [key, value] : good.items()) {
    Json without = good;
    without.erase(key);
    EXPECT_ERROR(model_config_from_json(without, "here"), kInvalid, "here", "\"" + key + "\" is missing");
    for (const Json& wrong :
         {Json("nonsense"), Json(nullptr), Json(Json::array({1})), Json(Json::object())}) {
      Json other = good;
      other[key] = wrong;
      EXPECT_ERROR(model_config_from_json(other, "here"), kInvalid, "here", key, "expected");
    }
  }
  Json more = good;
  more["rope"] = true;
  EXPECT_ERROR(model_config_from_json(more, "here"), kInvalid, "\"rope\" is not known");
  EXPECT_ERROR(model_config_from_json(Json::array(), "here"), kInvalid, "an object");
}

TEST(ConfigJson, RefusesOtherNumbers) {
  const Json good = to_json(ModelConfig{});
  const auto refused = [&](const char* key, const char* value) {
    Json other = good;
    other[key] = Json::parse(value);
    EXPECT_ERROR(model_config_from_json(other, "here"), kInvalid, "here", key, "expected");
  };
  for (const char* value : {"1.5", "1e30", "true", "\"12\""}) refused("num_layers", value);
  for (const char* value : {"[1]", "[1, 2, 3]", "12", "[1, \"a\"]"}) refused("image_size", value);
  for (const char* value : {"0", "1", "\"yes\""}) refused("qkv_bias", value);
  refused("activation", "\"swish\"");
  refused("activation", "0");
  refused("layer_norm_eps", "1e300");  // infinite as a float
}

/// A recipe with nothing at its default.
PreprocessConfig unusual() {
  PreprocessConfig recipe;
  recipe.source = "hf, \"quoted\" ImageProcessor";
  recipe.arithmetic = RecipeArithmetic::torchvision;
  recipe.exif = Exif::ignore;
  recipe.transparency = Transparency::colour_key_on_white;
  recipe.resize = ResizeMode::shortest_edge;
  recipe.size = {3, 4};
  recipe.edge = 99;
  recipe.longest_edge = 1234;
  recipe.interpolation = Interpolation::hamming;
  recipe.crop = Size2{5, 6};
  recipe.fill = {1, 128, 255};
  recipe.rescale = false;
  recipe.rescale_factor = 1 / 127.5;
  recipe.normalize = false;
  recipe.mean = {0.1, 1.0 / 3, -2.5};
  recipe.std = {1e-3, 0.7, 3e7};
  return recipe;
}

TEST(ConfigJson, RecipesComeBack) {
  for (const PreprocessConfig& recipe : {PreprocessConfig{}, unusual()}) {
    const PreprocessConfig back = preprocess_config_from_json(through_text(to_json(recipe)), "here");
    EXPECT_EQ(to_json(back), to_json(recipe));
    EXPECT_EQ(back.source, recipe.source);
    EXPECT_EQ(back.mean, recipe.mean);
    EXPECT_EQ(back.std, recipe.std);
    EXPECT_EQ(back.rescale_factor, recipe.rescale_factor);
    EXPECT_EQ(back.longest_edge, recipe.longest_edge);
    EXPECT_EQ(back.crop, recipe.crop);
  }
  const Json standard = to_json(PreprocessConfig{});
  const Json changed = to_json(unusual());
  for (const auto& [key, value] : changed.items()) EXPECT_NE(standard[key], value) << key;
}

TEST(ConfigJson, RefusesRecipesThatCannotBe) {
  const Json good = to_json(unusual());
  for (const auto& [key, value] : good.items()) {
    Json without = good;
    without.erase(key);
    EXPECT_ERROR(preprocess_config_from_json(without, "here"), kInvalid, "here",
                 "\"" + key + "\" is missing");
    Json other = good;
    other[key] = Json::object();
    EXPECT_ERROR(preprocess_config_from_json(other, "here"), kInvalid, "here", key, "expected");
  }
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, const char*>>{{"size", "[0, 5]"},
                                                        {"size", "[5, -1]"},
                                                        {"size", "[1048577, 5]"},
                                                        {"edge", "0"},
                                                        {"edge", "-1"},
                                                        {"edge", "1000000000000"},
                                                        {"longest_edge", "0"},
                                                        {"crop", "[0, 1]"},
                                                        {"crop", "[1, 1048577]"},
                                                        {"rescale_factor", "1e99"},
                                                        {"mean", "[0, 0, 1e99]"},
                                                        {"std", "[1, 1, 0]"},
                                                        {"std", "[1e99, 1, 1]"},
                                                        {"std", "[1, 1e-60, 1]"},
                                                        {"mean", "[1, 1]"},
                                                        {"interpolation", "\"cubic\""}}) {
    Json other = good;
    other[key] = Json::parse(value);
    EXPECT_ERROR(preprocess_config_from_json(other, "here"), kInvalid, "here", key, "expected");
  }
}

}  // namespace
}  // namespace vit::io
