// preprocessor_config.json -> PreprocessConfig. Follows transformers 5.24: PilBackend and the classes on top
// of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/ascii.hpp"
#include "io/json.hpp"
#include "io/preprocess.hpp"
#include "io/recipe_fields.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr Channels kHalf{0.5, 0.5, 0.5};
constexpr Channels kClipMean{0.48145466, 0.4578275, 0.40821073};
constexpr Channels kClipStd{0.26862954, 0.26130258, 0.27577711};

/// Defaults of a processor class: what a file means that does not say it.
struct ProcessorClass {
  std::string_view name;  ///< without its suffix ImageProcessor
  ResizeMode resize = ResizeMode::exact;
  std::int64_t size = 224;       ///< square, or shortest edge
  bool number_is_square = true;  ///< "size": 224 means a square, not the shortest edge (default_to_square)
  std::int64_t crop_size = 0;    ///< square; 0: none
  bool center_crop = false;
  bool convert_rgb = false;
  RecipeArithmetic arithmetic = RecipeArithmetic::transformers;
  Interpolation resample = Interpolation::bicubic;
  Channels mean = kHalf;
  Channels std = kHalf;
};

constexpr ProcessorClass kClip{.name = "CLIP",
                               .resize = ResizeMode::shortest_edge,
                               .number_is_square = false,
                               .crop_size = 224,
                               .center_crop = true,
                               .convert_rgb = true,
                               .mean = kClipMean,
                               .std = kClipStd};

constexpr ProcessorClass renamed(ProcessorClass defaults, std::string_view name) {
  defaults.name = name;
  return defaults;
}

/// All of these do nothing but resize, crop, rescale and normalise.
constexpr std::array kClasses{
    ProcessorClass{.name = "ViT", .resample = Interpolation::bilinear},
    ProcessorClass{.name = "DeiT", .size = 256, .crop_size = 224, .center_crop = true},
    ProcessorClass{.name = "Beit", .crop_size = 224},
    kClip,
    renamed(kClip, "ChineseCLIP"),
    ProcessorClass{.name = "Siglip", .number_is_square = false, .convert_rgb = true},
    renamed(kClip, "Bit"),  // its class defaults are CLIP's, mean and deviation included
    ProcessorClass{.name = "Blip", .size = 384, .convert_rgb = true, .mean = kClipMean, .std = kClipStd},
    ProcessorClass{.name = "DINOv3ViT",
                   .arithmetic = RecipeArithmetic::tensors,
                   .resample = Interpolation::bilinear,
                   .mean = kImagenetMean,
                   .std = kImagenetStd},
    ProcessorClass{.name = "Pvt", .mean = kImagenetMean, .std = kImagenetStd},
};

/// The class that goes with a model, for files that name none.
struct ModelClass {
  std::string_view model_type;
  std::string_view name;
};

constexpr std::array kModelClasses{
    ModelClass{"vit", "ViT"},
    ModelClass{"vit_mae", "ViT"},
    ModelClass{"vit_msn", "ViT"},
    ModelClass{"ijepa", "ViT"},
    ModelClass{"deit", "DeiT"},
    ModelClass{"beit", "Beit"},
    ModelClass{"clip", "CLIP"},
    ModelClass{"data2vec-vision", "Beit"},
    ModelClass{"siglip", "Siglip"},
    ModelClass{"dinov2", "Bit"},
    ModelClass{"dinov2_with_registers", "Bit"},
    ModelClass{"dinov3_vit", "DINOv3ViT"},
};

bool remove_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

[[noreturn]] void throw_unsupported(JsonSource source, std::string_view what) {
  throw Error(ErrorCode::model_unsupported, fmt::format("{}: {}", source.name, what));
}

const ProcessorClass& class_named(std::string_view full_name, JsonSource source) {
  std::string_view name = full_name;
  if (!remove_suffix(name, "Fast")) remove_suffix(name, "Pil");  // backends of the same class
  const bool known_suffix = remove_suffix(name, "ImageProcessor") || remove_suffix(name, "FeatureExtractor");
  const auto* found =
      std::find_if(kClasses.begin(), kClasses.end(), [&](const auto& c) { return c.name == name; });
  if (known_suffix && found != kClasses.end()) return *found;
  std::string known;
  for (const ProcessorClass& c : kClasses)
    known += fmt::format("{}{}ImageProcessor", known.empty() ? "" : ", ", c.name);
  throw_unsupported(
      source, fmt::format("the image processor {} is not supported; supported are {}", full_name, known));
}

const ProcessorClass& class_of(const Json& file, JsonSource source, std::string_view model_type) {
  if (const auto type = find_string(file, "image_processor_type", source)) return class_named(*type, source);
  if (const auto type = find_string(file, "feature_extractor_type", source))
    return class_named(*type, source);
  const auto* found = std::find_if(kModelClasses.begin(), kModelClasses.end(),
                                   [&](const auto& c) { return c.model_type == model_type; });
  if (found != kModelClasses.end()) return class_named(fmt::format("{}ImageProcessor", found->name), source);
  throw Error(
      source.code,
      fmt::format("{}: \"image_processor_type\" is missing, and the model type \"{}\" does not imply one",
                  source.name, model_type));
}

// A null in the file is not a default: transformers takes it for "none" or "off".

bool read_flag(const Json& file, std::string_view key, bool fallback, JsonSource source) {
  return file.contains(key) ? find_bool(file, key, source).value_or(false) : fallback;
}

[[noreturn]] void throw_needed(JsonSource source, std::string_view key, std::string_view step) {
  throw Error(source.code, fmt::format("{}: \"{}\" is needed for \"{}\"", source.name, key, step));
}

/// {"height": 224, "width": 224} or [224, 224]; nothing for other forms.
std::optional<Size2> find_height_width(const Json& value, std::string_view key, JsonSource source) {
  if (value.is_array() && value.size() == 2) {
    return Size2{to_side(value[0], fmt::format("{}[0]", key), source),
                 to_side(value[1], fmt::format("{}[1]", key), source)};
  }
  if (value.is_object() && value.size() == 2 && find(value, "height") != nullptr &&
      find(value, "width") != nullptr) {
    return Size2{to_side(value["height"], fmt::format("{}.height", key), source),
                 to_side(value["width"], fmt::format("{}.width", key), source)};
  }
  return std::nullopt;
}

void read_size(const Json& value, bool number_is_square, JsonSource source, PreprocessConfig& config) {
  if (const auto size = find_height_width(value, "size", source)) {
    config.resize = ResizeMode::exact;
    config.size = *size;
  } else if (value.is_number()) {
    const std::int64_t side = to_side(value, "size", source);
    config.resize = number_is_square ? ResizeMode::exact : ResizeMode::shortest_edge;
    config.size = {side, side};
    config.edge = side;
  } else if (value.is_object() && find(value, "shortest_edge") != nullptr &&
             value.size() == (value.contains("longest_edge") ? 2U : 1U)) {
    config.resize = ResizeMode::shortest_edge;
    config.edge = to_side(value["shortest_edge"], "size.shortest_edge", source);
    if (const Json* longest = find(value, "longest_edge")) {
      config.longest_edge = to_side(*longest, "size.longest_edge", source);
    }
  } else if (value.is_object() && (value.contains("max_height") || value.contains("max_pixels"))) {
    throw_unsupported(source, fmt::format("\"size\" {} is not supported", describe(value)));
  } else {
    throw_unexpected(source, "size",
                     "a number, [height, width], {\"height\", \"width\"}, {\"shortest_edge\"} or "
                     "{\"shortest_edge\", \"longest_edge\"}",
                     value);
  }
}

Size2 read_crop_size(const Json& value, JsonSource source) {
  if (const auto size = find_height_width(value, "crop_size", source)) return *size;
  if (value.is_number()) {
    const std::int64_t side = to_side(value, "crop_size", source);
    return {side, side};
  }
  throw_unexpected(source, "crop_size", "a number, [height, width] or {\"height\", \"width\"}", value);
}

/// Pillow's numbers, or names (which the references do not read: they take bilinear for any name).
Interpolation read_resample(const Json& value, JsonSource source) {
  constexpr std::array kFilters{Interpolation::nearest, Interpolation::lanczos, Interpolation::bilinear,
                                Interpolation::bicubic, Interpolation::box,     Interpolation::hamming};
  if (value.is_string()) {
    const std::string name = to_lower(value.get<std::string>());
    for (const Interpolation filter : kFilters) {
      if (to_string(filter) == name) return filter;
    }
  } else if (value.is_number_integer()) {
    const std::int64_t number = to_int(value, "resample", source);
    if (number >= 0 && number < static_cast<std::int64_t>(kFilters.size())) {
      return kFilters[static_cast<std::size_t>(number)];
    }
  }
  throw_unexpected(source, "resample",
                   "0 (nearest), 1 (lanczos), 2 (bilinear), 3 (bicubic), 4 (box), 5 (hamming) or such a name",
                   value);
}

/// A number that is finite in single precision too, which the references compute in.
double read_float(const Json& value, std::string_view key, JsonSource source) {
  const double number = to_number(value, key, source);
  if (!std::isfinite(static_cast<float>(number)))
    throw_unexpected(source, key, "a single-precision number", value);
  return number;
}

/// Three numbers, or one for all channels.
Channels read_processor_channels(const Json& file, const char* key, const Channels& fallback,
                                 JsonSource source) {
  if (!file.contains(key)) return fallback;
  const Json* value = find(file, key);
  if (value == nullptr) throw_needed(source, key, "do_normalize");
  Channels channels{};
  if (value->is_number()) {
    channels.fill(read_float(*value, key, source));
    return channels;
  }
  if (!value->is_array() || value->size() != channels.size()) {
    throw_unexpected(source, key, "3 numbers (pictures are RGB), or one for all channels", *value);
  }
  for (std::size_t i = 0; i < channels.size(); ++i) {
    channels[i] = read_float((*value)[i], fmt::format("{}[{}]", key, i), source);
  }
  return channels;
}

void read_resize(const Json& file, const ProcessorClass& defaults, JsonSource source,
                 PreprocessConfig& config) {
  config.resize = defaults.resize;
  config.size = {defaults.size, defaults.size};
  config.edge = defaults.size;
  config.interpolation = defaults.resample;
  const bool resize = read_flag(file, "do_resize", true, source);
  const bool number_is_square = read_flag(file, "default_to_square", defaults.number_is_square, source);
  const Json* size = find(file, "size");
  const Json* resample = find(file, "resample");
  if (defaults.name == "CLIP" && read_flag(file, "use_square_size", false, source)) {
    config.resize = ResizeMode::exact;  // Kosmos-2: overrides a size in the file, too
  } else if (size != nullptr) {
    read_size(*size, number_is_square, source, config);
  } else if (resize && file.contains("size")) {
    throw_needed(source, "size", "do_resize");
  }
  if (resample != nullptr) {
    config.interpolation = read_resample(*resample, source);
  } else if (resize && file.contains("resample")) {
    throw_needed(source, "resample", "do_resize");
  }
  if (!resize) config.resize = ResizeMode::none;
}

void read_crop(const Json& file, const ProcessorClass& defaults, JsonSource source,
               PreprocessConfig& config) {
  std::optional<Size2> size;
  if (const Json* in_file = find(file, "crop_size")) {
    size = read_crop_size(*in_file, source);
  } else if (!file.contains("crop_size") && defaults.crop_size > 0) {
    size = Size2{defaults.crop_size, defaults.crop_size};
  }
  if (!read_flag(file, "do_center_crop", defaults.center_crop, source)) return;
  if (!size) throw_needed(source, "crop_size", "do_center_crop");
  config.crop = size;
}

void read_values(const Json& file, const ProcessorClass& defaults, JsonSource source,
                 PreprocessConfig& config) {
  config.rescale = read_flag(file, "do_rescale", true, source);
  if (const Json* factor = find(file, "rescale_factor")) {
    config.rescale_factor = read_float(*factor, "rescale_factor", source);
  } else if (config.rescale && file.contains("rescale_factor")) {
    throw_needed(source, "rescale_factor", "do_rescale");
  }
  config.normalize = read_flag(file, "do_normalize", true, source);
  if (!config.normalize) return;  // nobody looks at mean and std then
  config.mean = read_processor_channels(file, "image_mean", defaults.mean, source);
  config.std = read_processor_channels(file, "image_std", defaults.std, source);
  for (const double std : config.std) {
    if (static_cast<float>(std) == 0.0F) throw_unexpected(source, "image_std", "no zeros", file["image_std"]);
  }
}

/// What PyTorch does to tensors is not all that Pillow does to pictures.
void check_tensor_recipe(const PreprocessConfig& config, JsonSource source) {
  if (!config.rescale) throw_unsupported(source, "\"do_rescale\": false is not supported for this processor");
  const Interpolation filter = config.interpolation;
  if (config.resize != ResizeMode::none && filter != Interpolation::bilinear &&
      filter != Interpolation::bicubic && filter != Interpolation::nearest) {
    throw_unsupported(source,
                      fmt::format("\"resample\": {} is not supported for this processor; nearest, bilinear "
                                  "and bicubic are",
                                  to_string(filter)));
  }
}

}  // namespace

PreprocessConfig parse_preprocessor_config(std::string_view json, std::string_view name,
                                           std::string_view model_type) {
  const JsonSource source(name);
  const Json text = parse_json_object(json, source);
  const Json* nested = find_object(text, "image_processor", source);  // processor_config.json
  const Json& file = nested != nullptr ? *nested : text;
  const ProcessorClass& defaults = class_of(file, source, model_type);

  PreprocessConfig config;
  config.source = fmt::format("hf, {}ImageProcessor, {}", defaults.name, name);
  config.exif = Exif::apply;
  config.transparency = read_flag(file, "do_convert_rgb", defaults.convert_rgb, source)
                            ? Transparency::colour_key_on_white
                            : Transparency::drop;
  config.arithmetic = defaults.arithmetic;
  read_resize(file, defaults, source, config);
  read_crop(file, defaults, source, config);
  read_values(file, defaults, source, config);
  if (config.arithmetic == RecipeArithmetic::tensors) check_tensor_recipe(config, source);
  if (find_bool(file, "do_pad", source).value_or(false))
    throw_unsupported(source, "\"do_pad\" is not supported");
  return config;
}

}  // namespace vit::io
