#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/preprocess.hpp"
#include "tests/support/expect_error.hpp"

namespace vit::io {
namespace {

constexpr std::array kHalf{0.5, 0.5, 0.5};
constexpr std::array kClipMean{0.48145466, 0.4578275, 0.40821073};
constexpr std::array kClipStd{0.26862954, 0.26130258, 0.27577711};

PreprocessConfig parse(std::string_view json, std::string_view model_type = {}) {
  return parse_preprocessor_config(json, "preprocessor_config.json", model_type);
}

/// A file of a ViTImageProcessor with more keys.
PreprocessConfig parse_vit(std::string_view keys) {
  return parse(fmt::format(R"({{"image_processor_type": "ViTImageProcessor", {}}})", keys));
}

PreprocessConfig defaults_of(std::string_view name) {
  return parse(fmt::format(R"({{"image_processor_type": "{}"}})", name));
}

TEST(PreprocessorConfig, ReadsEveryKey) {
  const PreprocessConfig config = parse(R"({"image_processor_type": "BitImageProcessor", "do_resize": true,
    "size": {"shortest_edge": 256}, "resample": 1, "do_center_crop": true, "crop_size": {"height": 200, "width": 190},
    "do_rescale": true, "rescale_factor": 0.25, "do_normalize": true, "image_mean": [0.1, 0.2, 0.3],
    "image_std": [0.4, 0.5, 0.6], "do_convert_rgb": false, "some_future_key": {"a": []}})");
  EXPECT_EQ(config.source, "hf, BitImageProcessor, preprocessor_config.json");
  EXPECT_EQ(config.exif, Exif::apply);
  EXPECT_EQ(config.transparency, Transparency::drop);
  EXPECT_EQ(config.resize, ResizeMode::shortest_edge);
  EXPECT_EQ(config.edge, 256);
  EXPECT_EQ(config.longest_edge, std::nullopt);
  EXPECT_EQ(config.interpolation, Interpolation::lanczos);
  EXPECT_EQ(config.crop, (Size2{200, 190}));
  EXPECT_TRUE(config.rescale);
  EXPECT_EQ(config.rescale_factor, 0.25);
  EXPECT_TRUE(config.normalize);
  EXPECT_EQ(config.mean, (std::array{0.1, 0.2, 0.3}));
  EXPECT_EQ(config.std, (std::array{0.4, 0.5, 0.6}));
}

// ------------------------------------------------------------------------------------------------ classes

TEST(PreprocessorConfig, VitDefaults) {
  const PreprocessConfig config = defaults_of("ViTImageProcessor");
  EXPECT_EQ(config.resize, ResizeMode::exact);
  EXPECT_EQ(config.size, (Size2{224, 224}));
  EXPECT_EQ(config.interpolation, Interpolation::bilinear);
  EXPECT_EQ(config.crop, std::nullopt);
  EXPECT_EQ(config.mean, kHalf);
  EXPECT_EQ(config.std, kHalf);
  EXPECT_EQ(config.rescale_factor, 1.0 / 255.0);
  EXPECT_EQ(config.transparency, Transparency::drop);
}

TEST(PreprocessorConfig, DeitDefaults) {
  const PreprocessConfig config = defaults_of("DeiTImageProcessor");
  EXPECT_EQ(config.resize, ResizeMode::exact);
  EXPECT_EQ(config.size, (Size2{256, 256}));
  EXPECT_EQ(config.crop, (Size2{224, 224}));
  EXPECT_EQ(config.interpolation, Interpolation::bicubic);
  EXPECT_EQ(config.mean, kHalf);
}

TEST(PreprocessorConfig, BeitDefaults) {
  const PreprocessConfig config = defaults_of("BeitImageProcessor");
  EXPECT_EQ(config.size, (Size2{224, 224}));
  EXPECT_EQ(config.crop, std::nullopt);
  EXPECT_EQ(config.interpolation, Interpolation::bicubic);
  EXPECT_EQ(config.std, kHalf);
  const auto cropped = parse(R"({"image_processor_type": "BeitImageProcessor", "do_center_crop": true})");
  EXPECT_EQ(cropped.crop, (Size2{224, 224}));
}

TEST(PreprocessorConfig, ClipAndBitDefaults) {
  for (const std::string_view name :
       {"CLIPImageProcessor", "BitImageProcessor", "ChineseCLIPImageProcessor"}) {
    const PreprocessConfig config = defaults_of(name);
    EXPECT_EQ(config.resize, ResizeMode::shortest_edge);
    EXPECT_EQ(config.edge, 224);
    EXPECT_EQ(config.crop, (Size2{224, 224}));
    EXPECT_EQ(config.interpolation, Interpolation::bicubic);
    EXPECT_EQ(config.mean, kClipMean);
    EXPECT_EQ(config.std, kClipStd);
    EXPECT_EQ(config.transparency, Transparency::colour_key_on_white);
  }
}

TEST(PreprocessorConfig, SiglipBlipAndPvtDefaults) {
  const PreprocessConfig siglip = defaults_of("SiglipImageProcessor");
  EXPECT_EQ(siglip.resize, ResizeMode::exact);
  EXPECT_EQ(siglip.size, (Size2{224, 224}));
  EXPECT_EQ(siglip.crop, std::nullopt);
  EXPECT_EQ(siglip.interpolation, Interpolation::bicubic);
  EXPECT_EQ(siglip.mean, kHalf);
  EXPECT_EQ(siglip.transparency, Transparency::colour_key_on_white);
  const PreprocessConfig blip = defaults_of("BlipImageProcessor");
  EXPECT_EQ(blip.size, (Size2{384, 384}));
  EXPECT_EQ(blip.std, kClipStd);
  EXPECT_EQ(blip.transparency, Transparency::colour_key_on_white);
  const PreprocessConfig pvt = defaults_of("PvtImageProcessor");
  EXPECT_EQ(pvt.mean, (std::array{0.485, 0.456, 0.406}));
  EXPECT_EQ(pvt.transparency, Transparency::drop);
}

TEST(PreprocessorConfig, KnowsEverySpellingOfAClass) {
  for (const std::string_view name :
       {"DeiTImageProcessor", "DeiTImageProcessorFast", "DeiTImageProcessorPil", "DeiTFeatureExtractor"}) {
    EXPECT_EQ(defaults_of(name).size, (Size2{256, 256})) << name;
  }
  EXPECT_EQ(parse(R"({"feature_extractor_type": "DeiTFeatureExtractor"})").size, (Size2{256, 256}));
  // image_processor_type wins
  EXPECT_EQ(
      parse(
          R"({"feature_extractor_type": "DeiTFeatureExtractor", "image_processor_type": "ViTImageProcessor"})")
          .size,
      (Size2{224, 224}));
}

TEST(PreprocessorConfig, TakesTheClassOfTheModelWhereTheFileNamesNone) {
  EXPECT_EQ(parse("{}", "deit").size, (Size2{256, 256}));
  EXPECT_EQ(parse("{}", "dinov2").resize, ResizeMode::shortest_edge);
  EXPECT_EQ(parse(R"({"image_processor_type": "ViTImageProcessor"})", "deit").size, (Size2{224, 224}));
  EXPECT_ERROR(parse("{}"), ErrorCode::config_invalid, "image_processor_type");
  EXPECT_ERROR(parse("{}", "resnet"), ErrorCode::config_invalid, "resnet");
}

TEST(PreprocessorConfig, RefusesOtherClassesByName) {
  for (const std::string_view name : {"ConvNextImageProcessor", "MobileViTImageProcessorFast", "ViT",
                                      "ViTProcessor", "Siglip2ImageProcessor", "", "ImageProcessor"}) {
    EXPECT_ERROR(defaults_of(name), ErrorCode::model_unsupported, std::string(name),
                 "preprocessor_config.json", "SiglipImageProcessor");
  }
}

TEST(PreprocessorConfig, FindsTheRecipeInsideAProcessorConfig) {
  const auto config = parse(R"({"processor_class": "CLIPProcessor", "image_processor":
    {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 99}}})");
  EXPECT_EQ(config.edge, 99);
}

// ------------------------------------------------------------------------------------------------ sizes

TEST(PreprocessorConfig, SizeForms) {
  EXPECT_EQ(parse_vit(R"("size": 12)").size, (Size2{12, 12}));
  EXPECT_EQ(parse_vit(R"("size": 12.0)").size, (Size2{12, 12}));
  EXPECT_EQ(parse_vit(R"("size": [12, 14])").size, (Size2{12, 14}));
  EXPECT_EQ(parse_vit(R"("size": {"height": 12, "width": 14})").size, (Size2{12, 14}));
  const PreprocessConfig shortest = parse_vit(R"("size": {"shortest_edge": 12})");
  EXPECT_EQ(shortest.resize, ResizeMode::shortest_edge);
  EXPECT_EQ(shortest.edge, 12);
  const PreprocessConfig both = parse_vit(R"("size": {"shortest_edge": 12, "longest_edge": 20})");
  EXPECT_EQ(both.edge, 12);
  EXPECT_EQ(both.longest_edge, 20);
  EXPECT_EQ(parse_vit(R"("size": {"shortest_edge": 12, "longest_edge": null})").longest_edge, std::nullopt);
  EXPECT_EQ(parse_vit(R"("size": 16384)").size, (Size2{16384, 16384}));
}

TEST(PreprocessorConfig, ANumberIsASquareOrTheShortestEdge) {
  const std::string keys = R"("size": 99)";
  for (const std::string_view name : {"ViT", "DeiT", "Beit"}) {
    const auto config =
        parse(fmt::format(R"({{"feature_extractor_type": "{}FeatureExtractor", {}}})", name, keys));
    EXPECT_EQ(config.resize, ResizeMode::exact) << name;
    EXPECT_EQ(config.size, (Size2{99, 99})) << name;
  }
  for (const std::string_view name : {"CLIP", "Siglip", "Bit"}) {
    const auto config =
        parse(fmt::format(R"({{"feature_extractor_type": "{}FeatureExtractor", {}}})", name, keys));
    EXPECT_EQ(config.resize, ResizeMode::shortest_edge) << name;
    EXPECT_EQ(config.edge, 99) << name;
  }
  EXPECT_EQ(parse_vit(R"("size": 99, "default_to_square": false)").resize, ResizeMode::shortest_edge);
  const auto kosmos = parse(
      R"({"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 9}, "use_square_size": true})");
  EXPECT_EQ(kosmos.resize, ResizeMode::exact);
  EXPECT_EQ(kosmos.size, (Size2{224, 224}));
}

TEST(PreprocessorConfig, RefusesOtherSizes) {
  const auto invalid = ErrorCode::config_invalid;
  for (const std::string_view size :
       {R"("abc")", "true", "[12]", "[1, 2, 3]", "{}", R"({"height": 12})", R"({"longest_edge": 12})",
        R"({"height": 12, "width": 12, "shortest_edge": 3})", R"({"shortest_edge": 12, "width": 12})",
        R"({"shortest_edge": null})"}) {
    EXPECT_ERROR(parse_vit(fmt::format("\"size\": {}", size)), invalid, "preprocessor_config.json: \"size\"",
                 "expected a number, [height, width]");
  }
  for (const std::string_view size : {"0", "-3", "16385", "1e30", "12.5"}) {
    EXPECT_ERROR(parse_vit(fmt::format("\"size\": {}", size)), invalid, "\"size\": expected");
  }
  EXPECT_ERROR(parse_vit(R"("size": {"height": "12", "width": 12})"), invalid, "size.height", "\"12\"");
  EXPECT_ERROR(parse_vit(R"("size": [12, 0])"), invalid, "size[1]", "1 to 16384");
  EXPECT_ERROR(parse_vit(R"("size": {"shortest_edge": 99999})"), invalid, "size.shortest_edge");
  EXPECT_ERROR(parse_vit(R"("size": {"max_height": 5, "max_width": 5})"), ErrorCode::model_unsupported,
               "max_height");
  EXPECT_ERROR(parse_vit(R"("size": null)"), invalid, "\"size\" is needed for \"do_resize\"");
  EXPECT_EQ(parse_vit(R"("size": null, "do_resize": false)").resize, ResizeMode::none);
}

TEST(PreprocessorConfig, CropForms) {
  const std::string on = R"("do_center_crop": true, )";
  EXPECT_EQ(parse_vit(on + R"("crop_size": 12)").crop, (Size2{12, 12}));
  EXPECT_EQ(parse_vit(on + R"("crop_size": [12, 14])").crop, (Size2{12, 14}));
  EXPECT_EQ(parse_vit(on + R"("crop_size": {"height": 12, "width": 14})").crop, (Size2{12, 14}));
  EXPECT_EQ(parse_vit(R"("crop_size": 12)").crop, std::nullopt);
  EXPECT_EQ(parse_vit(R"("crop_size": 12, "do_center_crop": null)").crop, std::nullopt);
  EXPECT_ERROR(parse_vit(R"("do_center_crop": true)"), ErrorCode::config_invalid, "\"crop_size\" is needed");
  for (const std::string_view size : {"\"x\"", "0", "{\"shortest_edge\": 5}", "[]", "99999"}) {
    EXPECT_ERROR(parse_vit(on + fmt::format("\"crop_size\": {}", size)), ErrorCode::config_invalid,
                 "\"crop_size\"");
  }
}

// ------------------------------------------------------------------------------------------------ values

TEST(PreprocessorConfig, Resample) {
  constexpr std::array kNumbered{Interpolation::nearest, Interpolation::lanczos, Interpolation::bilinear,
                                 Interpolation::bicubic, Interpolation::box,     Interpolation::hamming};
  for (std::size_t i = 0; i < kNumbered.size(); ++i) {
    EXPECT_EQ(parse_vit(fmt::format("\"resample\": {}", i)).interpolation, kNumbered[i]);
    EXPECT_EQ(parse_vit(fmt::format("\"resample\": \"{}\"", to_string(kNumbered[i]))).interpolation,
              kNumbered[i]);
  }
  EXPECT_EQ(parse_vit(R"("resample": "BICUBIC")").interpolation, Interpolation::bicubic);
  for (const std::string_view value : {"6", "-1", "true", "2.5", "\"cubic\"", "[3]", "1e30"}) {
    EXPECT_ERROR(parse_vit(fmt::format("\"resample\": {}", value)), ErrorCode::config_invalid,
                 "\"resample\": expected", "3 (bicubic)");
  }
  EXPECT_ERROR(parse_vit(R"("resample": null)"), ErrorCode::config_invalid, "\"resample\" is needed");
}

TEST(PreprocessorConfig, SwitchesAreBooleans) {
  EXPECT_EQ(parse_vit(R"("do_resize": false)").resize, ResizeMode::none);
  EXPECT_FALSE(parse_vit(R"("do_rescale": false)").rescale);
  EXPECT_FALSE(parse_vit(R"("do_normalize": false)").normalize);
  EXPECT_FALSE(parse_vit(R"("do_normalize": null)").normalize);
  EXPECT_EQ(parse_vit(R"("do_convert_rgb": true)").transparency, Transparency::colour_key_on_white);
  const auto clip = parse(R"({"image_processor_type": "CLIPImageProcessor", "do_convert_rgb": null})");
  EXPECT_EQ(clip.transparency, Transparency::drop);
  for (const std::string_view key : {"do_resize", "do_rescale", "do_normalize", "do_center_crop",
                                     "do_convert_rgb", "default_to_square", "do_pad"}) {
    EXPECT_ERROR(parse_vit(fmt::format("\"{}\": 1", key)), ErrorCode::config_invalid, std::string(key),
                 "expected true or false, found 1");
  }
  EXPECT_ERROR(parse_vit(R"("do_pad": true)"), ErrorCode::model_unsupported, "do_pad");
}

TEST(PreprocessorConfig, MeanAndStd) {
  EXPECT_EQ(parse_vit(R"("image_mean": 0.25)").mean, (std::array{0.25, 0.25, 0.25}));
  EXPECT_EQ(parse_vit(R"("image_mean": [0, 1, -2.5])").mean, (std::array{0.0, 1.0, -2.5}));
  for (const std::string_view key : {"image_mean", "image_std"}) {
    for (const std::string_view value : {"\"a\"", "[0.5]", "[1, 2]", "[1, 2, 3, 4]", "{}", "[]"}) {
      EXPECT_ERROR(parse_vit(fmt::format("\"{}\": {}", key, value)), ErrorCode::config_invalid,
                   std::string(key), "3 numbers");
    }
    EXPECT_ERROR(parse_vit(fmt::format("\"{}\": [1, \"a\", 1]", key)), ErrorCode::config_invalid,
                 fmt::format("{}[1]", key), "found \"a\"");
    EXPECT_ERROR(parse_vit(fmt::format("\"{}\": [1, 1, 1e300]", key)), ErrorCode::config_invalid,
                 fmt::format("{}[2]", key), "single-precision");
    EXPECT_ERROR(parse_vit(fmt::format("\"{}\": null", key)), ErrorCode::config_invalid,
                 "is needed for \"do_normalize\"");
  }
  for (const std::string_view value : {"0", "[0.5, 0, 0.5]", "[1, 1, 1e-60]"}) {
    EXPECT_ERROR(parse_vit(fmt::format("\"image_std\": {}", value)), ErrorCode::config_invalid, "image_std",
                 "no zeros");
  }
  // not looked at, as in the reference
  EXPECT_FALSE(parse_vit(R"("do_normalize": false, "image_mean": [0.5], "image_std": null)").normalize);
}

TEST(PreprocessorConfig, RescaleFactor) {
  EXPECT_EQ(parse_vit(R"("rescale_factor": 0.00392156862745098)").rescale_factor, 1.0 / 255.0);
  EXPECT_EQ(parse_vit(R"("rescale_factor": 2)").rescale_factor, 2.0);
  EXPECT_ERROR(parse_vit(R"("rescale_factor": "1/255")"), ErrorCode::config_invalid, "rescale_factor",
               "1/255");
  EXPECT_ERROR(parse_vit(R"("rescale_factor": 1e99)"), ErrorCode::config_invalid, "rescale_factor");
  EXPECT_ERROR(parse_vit(R"("rescale_factor": null)"), ErrorCode::config_invalid,
               "is needed for \"do_rescale\"");
  EXPECT_FALSE(parse_vit(R"("rescale_factor": null, "do_rescale": false)").rescale);
}

TEST(PreprocessorConfig, RefusesWhatIsNotAnObject) {
  EXPECT_ERROR(parse(""), ErrorCode::config_invalid, "preprocessor_config.json", "line 1");
  EXPECT_ERROR(parse("[]"), ErrorCode::config_invalid, "expected a JSON object");
  EXPECT_ERROR(parse(R"({"image_processor_type": 3})"), ErrorCode::config_invalid, "image_processor_type",
               "a string");
  EXPECT_ERROR(parse(R"({"image_processor": 3})"), ErrorCode::config_invalid, "image_processor", "an object");
}

}  // namespace
}  // namespace vit::io
