#include "io/preprocess.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "io/resample_float.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr std::int64_t kMaxOutputPixels = std::int64_t{1} << 28;

/// transformers' get_resize_output_image_size and, with a longest edge, get_size_with_aspect_ratio.
Size2 proportional_size(Size2 image, std::int64_t edge, std::optional<std::int64_t> longest) {
  const std::int64_t shorter = std::min(image.height, image.width);
  const std::int64_t longer = std::max(image.height, image.width);
  // Integer division is exactly the references' int(edge * longer / shorter).
  std::int64_t other = edge * longer / shorter;
  const auto ratio = static_cast<double>(longer) / static_cast<double>(shorter);
  if (longest && ratio * static_cast<double>(edge) > static_cast<double>(*longest)) {
    const double exact =
        static_cast<double>(*longest) * static_cast<double>(shorter) / static_cast<double>(longer);
    edge = static_cast<std::int64_t>(std::nearbyint(exact));  // half to even, as Python's round
    // Where the shorter side has its length already, the references leave the picture as it is.
    other =
        edge == shorter
            ? longer
            : static_cast<std::int64_t>(exact * static_cast<double>(longer) / static_cast<double>(shorter));
  }
  return image.width <= image.height ? Size2{other, edge} : Size2{edge, other};
}

/// timm's ResizeKeepRatio: both sides divided by the ratio of one of them to its target.
Size2 scaled_size(Size2 image, Size2 target, ResizeMode mode) {
  const double rows = static_cast<double>(image.height) / static_cast<double>(target.height);
  const double columns = static_cast<double>(image.width) / static_cast<double>(target.width);
  const double ratio = mode == ResizeMode::fit ? std::max(rows, columns) : std::min(rows, columns);
  const auto scaled = [&](std::int64_t side) {  // half to even, as Python's round
    return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(side) / ratio));
  };
  return {scaled(image.height), scaled(image.width)};
}

/// Size between resize and crop.
Size2 resized_size(Size2 image, const PreprocessConfig& config) {
  switch (config.resize) {
    case ResizeMode::none:
      return image;
    case ResizeMode::exact:
      return config.size;
    case ResizeMode::shortest_edge:
      return proportional_size(image, config.edge, config.longest_edge);
    case ResizeMode::cover:
    case ResizeMode::fit:
      return scaled_size(image, config.size, config.resize);
  }
  throw Error(ErrorCode::internal, "preprocess: unknown resize mode");
}

Size2 size_of(const Image& image) {
  return {image.height, image.width};
}

/// One axis of the centre crop: `count` pixels from `from` on of the resized picture land at `to` of the
/// result.
struct Span {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t count = 0;
};

/// Where an odd margin is larger: transformers' image_transforms.center_crop cuts less before the picture and
/// pads more there (its torchvision backend pads the other way round); torchvision and timm round what they
/// cut to even and pad more behind.
Span center(std::int64_t size, std::int64_t crop, RecipeArithmetic arithmetic) {
  const bool to_even = arithmetic == RecipeArithmetic::torchvision;
  const bool more_in_front = arithmetic == RecipeArithmetic::transformers;
  if (size < crop) return {0, (crop - size + (more_in_front ? 1 : 0)) / 2, size};
  const std::int64_t half = (size - crop) / 2;
  const bool up = to_even && (size - crop) % 2 == 1 && half % 2 == 1;
  return {half + (up ? 1 : 0), 0, crop};
}

/// Everything about where pixels go: the picture's size behind the resize, and what the crop keeps of it.
struct Placement {
  Size2 resized;
  Span rows;
  Span columns;

  /// Of the resized picture, what the crop keeps.
  Region kept() const { return {rows.from, columns.from, rows.count, columns.count}; }
};

/// `size` is the config's output_size for this picture.
Placement place(Size2 image, const PreprocessConfig& config, Size2 size) {
  const Size2 resized = resized_size(image, config);
  return {resized, center(resized.height, size.height, config.arithmetic),
          center(resized.width, size.width, config.arithmetic)};
}

/// A side of the picture has `side` pixels, of the resized picture `resized`.
AxisGeometry axis_geometry(Span span, std::int64_t side, std::int64_t resized) {
  const double step = static_cast<double>(side) / static_cast<double>(resized);
  return {static_cast<double>(span.from - span.to) * step, step};
}

/// What becomes of the 256 values of a channel, in the references' precision: transformers multiplies in
/// double and rounds to float, torchvision divides floats by 255; mean and deviation are in float.
using ChannelTable = std::array<float, 256>;

ChannelTable channel_table(const PreprocessConfig& config, std::size_t channel) {
  const auto mean = static_cast<float>(config.mean[channel]);
  const auto std = static_cast<float>(config.std[channel]);
  ChannelTable table;
  for (std::size_t value = 0; value < table.size(); ++value) {
    float x = static_cast<float>(value);
    if (config.arithmetic == RecipeArithmetic::torchvision) {
      x = static_cast<float>(value) / 255.0F;
    } else if (config.rescale) {
      x = static_cast<float>(static_cast<double>(value) * config.rescale_factor);
    }
    if (config.normalize) x = (x - mean) / std;
    table[value] = x;
  }
  return table;
}

/// Pixels with `stride` bytes between rows.
struct ChannelPixels {
  const std::uint8_t* first;
  std::int64_t stride;
  std::uint8_t fill;  // what lies beside them
};

/// Into the plane of one channel.
void fill_plane(const ChannelPixels& channel, Span rows, Span columns, Size2 size, const ChannelTable& table,
                float* plane) {
  const float beside = table[channel.fill];
  for (std::int64_t y = 0; y < size.height; ++y, plane += size.width) {
    if (y < rows.to || y >= rows.to + rows.count) {
      std::fill_n(plane, size.width, beside);
      continue;
    }
    const std::uint8_t* pixel = channel.first + (y - rows.to) * channel.stride;
    float* const end = plane + columns.to + columns.count;
    std::fill(plane, plane + columns.to, beside);
    for (float* target = plane + columns.to; target != end; ++target, pixel += 3) *target = table[*pixel];
    std::fill(end, plane + size.width, beside);
  }
}

/// RecipeArithmetic::tensors: no table, since there are more than 256 values behind the resize.
void preprocess_tensor(const Image& image, const PreprocessConfig& config, Size2 size,
                       std::span<float> pixel_values) {
  const Placement placement = place(size_of(image), config, size);
  const auto& [resized, rows, columns] = placement;
  const Region region = placement.kept();
  std::vector<float> part(static_cast<std::size_t>(3 * region.height * region.width));
  resize_float(image, static_cast<float>(config.rescale_factor), resized, config.interpolation, region, part);
  const float* source = part.data();
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const auto mean = config.normalize ? static_cast<float>(config.mean[channel]) : 0.0F;
    const auto std = config.normalize ? static_cast<float>(config.std[channel]) : 1.0F;
    float* plane = pixel_values.data() + channel * pixel_values.size() / 3;
    std::fill_n(plane, size.height * size.width, (0.0F - mean) / std);  // beside the picture: padded with 0
    for (std::int64_t y = 0; y < rows.count; ++y) {
      float* target = plane + (rows.to + y) * size.width + columns.to;
      for (std::int64_t x = 0; x < columns.count; ++x) *target++ = (*source++ - mean) / std;
    }
  }
}

}  // namespace

Size2 PreprocessConfig::output_size(Size2 image) const {
  if (image.height <= 0 || image.width <= 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("preprocess: {} x {} pixels", image.width, image.height));
  }
  const Size2 resized = resized_size(image, *this);
  const Size2 result = crop.value_or(resized);
  if (resized.height < 1 || resized.width < 1) {
    throw Error(
        ErrorCode::image_unsupported,
        fmt::format("{} x {} pixels would be resized to {} x {}: the picture is too long and thin for sides "
                    "of {} to {}",
                    image.width, image.height, resized.width, resized.height, edge,
                    longest_edge.value_or(0)));
  }
  if (std::max(resized.height, resized.width) > std::numeric_limits<std::int32_t>::max() ||
      result.height > kMaxOutputPixels / result.width) {
    throw Error(ErrorCode::image_too_large,
                fmt::format("{} x {} pixels would become {} x {}, more than the limit of {} pixels",
                            image.width, image.height, resized.width, resized.height, kMaxOutputPixels));
  }
  return result;
}

std::optional<Size2> fixed_size(const PreprocessConfig& config) {
  if (config.crop) return config.crop;
  return config.resize == ResizeMode::exact ? std::optional(config.size) : std::nullopt;
}

PreprocessConfig resized(const PreprocessConfig& config, Size2 image) {
  PreprocessConfig result = config;
  if (config.resize == ResizeMode::none || (config.resize != ResizeMode::exact && !config.crop)) {
    // Pictures of any size, so far.
    result.resize = ResizeMode::exact;
    result.size = image;
    if (config.crop) result.crop = image;
    return result;
  }
  const Size2 before = config.crop.value_or(config.size);
  const auto scaled = [](std::int64_t side, std::int64_t from, std::int64_t to) {
    return (side * to + from / 2) / from;
  };
  result.edge =
      scaled(config.edge, std::min(before.height, before.width), std::min(image.height, image.width));
  if (config.longest_edge) {
    result.longest_edge = scaled(*config.longest_edge, std::min(before.height, before.width),
                                 std::min(image.height, image.width));
  }
  result.size = {scaled(config.size.height, before.height, image.height),
                 scaled(config.size.width, before.width, image.width)};
  if (config.resize == ResizeMode::shortest_edge && image.height != image.width) {
    result.resize = ResizeMode::cover;  // a crop that is not square needs both sides covered
    const std::int64_t longest = result.edge;
    result.size = {scaled(longest, std::min(image.height, image.width), image.height),
                   scaled(longest, std::min(image.height, image.width), image.width)};
  }
  if (config.crop) result.crop = image;
  return result;
}

InputGeometry input_geometry(Size2 image, const PreprocessConfig& config) {
  const Size2 size = config.output_size(image);
  const Placement placement = place(image, config, size);
  return {size, axis_geometry(placement.rows, image.height, placement.resized.height),
          axis_geometry(placement.columns, image.width, placement.resized.width)};
}

void preprocess(const Image& image, const PreprocessConfig& config, std::span<float> pixel_values) {
  const Size2 size = config.output_size(size_of(image));
  if (pixel_values.size() != static_cast<std::size_t>(3 * size.height * size.width)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("preprocess: room for {} floats, expected [3, {}, {}]", pixel_values.size(),
                            size.height, size.width));
  }
  require_pixels(image, "preprocess");

  if (config.arithmetic == RecipeArithmetic::tensors)
    return preprocess_tensor(image, config, size, pixel_values);
  const Placement placement = place(size_of(image), config, size);
  const auto& [resized, rows, columns] = placement;
  Image part;  // of the resized picture, what the crop keeps
  const std::uint8_t* pixels = nullptr;
  std::int64_t stride = 0;
  if (resized == size_of(image)) {
    stride = 3 * image.width;
    pixels = image.pixels.data() + rows.from * stride + 3 * columns.from;
  } else {
    part = resize_region(image, resized, config.interpolation, placement.kept());
    stride = 3 * part.width;
    pixels = part.pixels.data();
  }
  for (std::size_t channel = 0; channel < 3; ++channel) {
    fill_plane({pixels + channel, stride, config.fill[channel]}, rows, columns, size,
               channel_table(config, channel), pixel_values.data() + channel * pixel_values.size() / 3);
  }
}

Tensor preprocess(const Image& image, const PreprocessConfig& config) {
  const Size2 size = config.output_size(size_of(image));
  Tensor pixel_values({3, size.height, size.width});
  preprocess(image, config, pixel_values.elements());
  return pixel_values;
}

std::string describe(const PreprocessConfig& recipe) {
  std::string text = recipe.source;
  if (recipe.resize == ResizeMode::exact) {
    text +=
        fmt::format("; {} to {}x{}", to_string(recipe.interpolation), recipe.size.height, recipe.size.width);
  } else if (recipe.resize == ResizeMode::shortest_edge) {
    text += fmt::format("; {}, shortest edge to {}", to_string(recipe.interpolation), recipe.edge);
  } else if (recipe.resize != ResizeMode::none) {
    text += fmt::format("; {} to {} {}x{}", to_string(recipe.interpolation),
                        recipe.resize == ResizeMode::cover ? "cover" : "fit into", recipe.size.height,
                        recipe.size.width);
  }
  if (recipe.crop) text += fmt::format(", centre {}x{}", recipe.crop->height, recipe.crop->width);
  if (recipe.fill != std::array<std::uint8_t, 3>{}) text += fmt::format(" on {}", recipe.fill);
  if (recipe.rescale) text += fmt::format(", times {:.6g}", recipe.rescale_factor);
  if (recipe.normalize) text += fmt::format(", mean {}, std {}", recipe.mean, recipe.std);
  return text;
}

}  // namespace vit::io
