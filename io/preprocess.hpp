// Picture -> network input: resize, centre crop, rescale, normalise, by the recipe that travels with the
// model.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/image.hpp"
#include "io/resample.hpp"
#include "vit/config.hpp"
#include "vit/tensor.hpp"

namespace vit::io {

/// Target size of the resize step.
enum class ResizeMode {
  none,           ///< no resize
  exact,          ///< to `size`, whatever the aspect ratio
  shortest_edge,  ///< the shorter side to `edge`, the other in proportion, truncated
  cover,          ///< in proportion, to the least that covers `size`; sides rounded half to even
  fit,            ///< in proportion, to the most that fits into `size`; sides rounded half to even
};

/// Whose rounding: where half a pixel goes in a crop or a padding, and in which precision values are scaled.
enum class RecipeArithmetic {
  transformers,  ///< its Pillow backend: offsets down, padding larger in front; scaled in double
  torchvision,   ///< timm's, too: offsets half to even, padding larger behind; scaled in float
  tensors,       ///< transformers' DINOv3: scaled first, then resized in float; offsets down, padding larger
                 ///< behind
};

/// One recipe. The order of the steps is fixed: decode, resize, crop, rescale, normalise.
struct PreprocessConfig {
  std::string
      source;  ///< where it comes from, for `info` ("hf, ViTImageProcessor, preprocessor_config.json")
  RecipeArithmetic arithmetic = RecipeArithmetic::transformers;
  Exif exif = Exif::apply;
  Transparency transparency = Transparency::drop;
  ResizeMode resize = ResizeMode::exact;
  Size2 size{224, 224};
  std::int64_t edge = 224;
  std::optional<std::int64_t> longest_edge;  ///< with shortest_edge: both shrink so that the longer side fits
  Interpolation interpolation = Interpolation::bilinear;
  std::optional<Size2> crop;                  ///< centre crop, padded where the picture is smaller
  std::array<std::uint8_t, 3> fill{0, 0, 0};  ///< what it is padded with: R G B, before it is scaled
  bool rescale = true;
  double rescale_factor = 1.0 / 255.0;
  bool normalize = true;
  std::array<double, 3> mean{0.5, 0.5, 0.5};
  std::array<double, 3> std{0.5, 0.5, 0.5};

  /// Size of the result for a picture of `image` pixels. The same for every picture, unless there is neither
  /// a crop nor a resize to an exact size. Throws Error: image_unsupported (a side would shrink to nothing),
  /// image_too_large (more than 2^28 pixels).
  Size2 output_size(Size2 image) const;
};

/// One axis of InputGeometry, in pixels counted from the top or left edge: pixel n of the network's input
/// shows what lies between origin + n step and origin + (n + 1) step of the picture.
struct AxisGeometry {
  double origin = 0;  ///< negative where the input begins with padding
  double step = 1;

  double at(double input_pixels) const { return origin + input_pixels * step; }
  bool operator==(const AxisGeometry&) const = default;
};

/// Where the pixels of a network's input come from: the other direction of resize and crop. What lies outside
/// of the picture is padding. (The filter of the resize reaches a little further than these edges.)
struct InputGeometry {
  Size2 input;  ///< pixels
  AxisGeometry rows;
  AxisGeometry columns;

  bool operator==(const InputGeometry&) const = default;
};

/// For a decoded picture of `image` pixels, turned as the recipe's `exif` says. Throws Error as output_size.
InputGeometry input_geometry(Size2 image, const PreprocessConfig& config);

/// Reads a Hugging Face preprocessor_config.json, of any age (feature_extractor_type, sizes as numbers), or
/// the processor_config.json that contains one. What the file does not say is the default of its processor
/// class; a file that does not name its class gets the one of `model_type` (of config.json). `name` appears
/// in messages. Throws Error: config_invalid, or model_unsupported (a class or step that Vitrine does not
/// have).
PreprocessConfig parse_preprocessor_config(std::string_view json, std::string_view name,
                                           std::string_view model_type = {});

/// Pixels of every picture when it has become the network's input; nothing where pictures differ.
std::optional<Size2> fixed_size(const PreprocessConfig& config);

/// The recipe for pictures of `image` pixels: the same share of each picture is seen.
PreprocessConfig resized(const PreprocessConfig& config, Size2 image);

/// The recipe in one line: "hf, ViTImageProcessor, …; bilinear to 224x224, times 0.00392157, mean …, std …".
std::string describe(const PreprocessConfig& config);

/// Applies the recipe to a decoded picture.
/// `pixel_values` has 3 * height * width floats of output_size and receives [3, height, width], R G B.
/// Thread-safe. Throws Error: those of output_size, invalid_argument (sizes that do not fit).
void preprocess(const Image& image, const PreprocessConfig& config, std::span<float> pixel_values);
/// The same as a tensor of its own, [3, height, width].
Tensor preprocess(const Image& image, const PreprocessConfig& config);

}  // namespace vit::io
