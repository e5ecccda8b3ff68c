// Picture -> network input: resize, centre crop, rescale, normalise, by the recipe that travels with the model.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/image.hpp"
#include "vit/config.hpp"

namespace vit::io {

/// Pillow's resampling filters.
enum class Interpolation { nearest, lanczos, bilinear, bicubic, box, hamming };

std::string_view to_string(Interpolation interpolation);

/// Target size of the resize step.
enum class ResizeMode {
  none,           ///< no resize
  exact,          ///< to `size`, whatever the aspect ratio
  shortest_edge,  ///< the shorter side to `edge`, the other in proportion
};

/// One recipe. The order of the steps is fixed: decode, resize, crop, rescale, normalise.
struct PreprocessConfig {
  std::string source;  ///< where it comes from, for `info` ("hf, ViTImageProcessor, preprocessor_config.json")
  Exif exif = Exif::apply;
  Transparency transparency = Transparency::drop;
  ResizeMode resize = ResizeMode::exact;
  Size2 size{224, 224};
  std::int64_t edge = 224;
  Interpolation interpolation = Interpolation::bilinear;
  std::optional<Size2> crop;              ///< centre crop, padded with zeros where the picture is smaller
  bool rescale = true;
  double rescale_factor = 1.0 / 255.0;
  bool normalize = true;
  std::array<double, 3> mean{0.5, 0.5, 0.5};
  std::array<double, 3> std{0.5, 0.5, 0.5};

  /// Size of the result for a picture of `image` pixels.
  Size2 output_size(Size2 image) const;
};

/// Reads a Hugging Face preprocessor_config.json (also old ones with feature_extractor_type and integer sizes).
/// `name` appears in messages. Throws Error: config_invalid, model_unsupported (an unknown processor or filter).
PreprocessConfig parse_preprocessor_config(std::string_view json, std::string_view name);

/// Applies the recipe to a decoded picture. `pixel_values` has room for 3 * height * width floats of output_size
/// and receives [3, height, width], R G B. Thread-safe.
void preprocess(const Image& image, const PreprocessConfig& config, std::span<float> pixel_values);

}  // namespace vit::io
