#include "io/attention_image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "io/resample.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

using Rgb = std::array<std::uint8_t, 3>;

constexpr double kFading =
    0.5;  // to white, of what the network has not seen: dark is what it does not look at

/// Perceptually uniform, dark to bright, and different from most of what photographs show.
std::array<Rgb, 256> inferno() {
  std::array<std::uint8_t, 256> ramp;
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<std::uint8_t>(i);
  cv::Mat bgr;
  cv::applyColorMap(cv::Mat(1, 256, CV_8UC1, ramp.data()), bgr, cv::COLORMAP_INFERNO);
  std::array<Rgb, 256> colours;
  for (int i = 0; i < 256; ++i) {
    const auto& colour = bgr.at<cv::Vec3b>(0, i);
    colours[static_cast<std::size_t>(i)] = {colour[2], colour[1], colour[0]};
  }
  return colours;
}

/// Where a pixel's value comes from along one axis: between the middles of two neighbouring cells.
struct Sample {
  bool seen = false;  ///< whether any cell covers the pixel
  std::int64_t low = 0;
  std::int64_t high = 0;
  double weight = 0;  ///< of high
};

std::vector<Sample> sample_axis(const AxisGeometry& axis, std::int64_t cells, std::int64_t pixels) {
  std::vector<Sample> samples(static_cast<std::size_t>(pixels));
  for (std::int64_t i = 0; i < pixels; ++i) {
    const double cell = (static_cast<double>(i) + 0.5 - axis.origin) / axis.step;  // of the pixel's middle
    if (cell < 0 || cell >= static_cast<double>(cells)) continue;
    const double from_middle = std::clamp(cell - 0.5, 0.0, static_cast<double>(cells - 1));
    const auto low = static_cast<std::int64_t>(from_middle);
    samples[static_cast<std::size_t>(i)] = {true, low, std::min(low + 1, cells - 1),
                                            from_middle - static_cast<double>(low)};
  }
  return samples;
}

double mix(double low, double high, double weight) {
  return low + (high - low) * weight;
}

/// Values of a map as numbers of a colour table.
class Levels {
 public:
  /// `clip` as in OverlayOptions.
  Levels(const ConstTensorView& map, double clip) : map_(map), columns_(map.shape[1]) {
    std::vector<float> sorted(map.data, map.data + map.size());
    std::sort(sorted.begin(), sorted.end());
    const auto clipped = static_cast<std::ptrdiff_t>(clip * static_cast<double>(sorted.size()));
    const auto most = static_cast<double>(sorted.end()[-1 - std::min(clipped, std::ssize(sorted) - 1)]);
    least_ = static_cast<double>(sorted.front());
    scale_ = most > least_ ? 255.0 / (most - least_) : 0;
  }

  std::size_t at(const Sample& row, const Sample& column) const {
    const float* const low = map_.data + row.low * columns_;
    const float* const high = map_.data + row.high * columns_;
    const auto between = [&](const float* cells) {
      return mix(static_cast<double>(cells[column.low]), static_cast<double>(cells[column.high]),
                 column.weight);
    };
    const double value = mix(between(low), between(high), row.weight);
    return static_cast<std::size_t>(std::clamp((value - least_) * scale_ + 0.5, 0.0, 255.0));
  }

 private:
  ConstTensorView map_;
  std::int64_t columns_;
  double least_ = 0;
  double scale_ = 0;
};

std::uint8_t to_byte(double value) {
  return static_cast<std::uint8_t>(value + 0.5);
}

}  // namespace

MapPlacement place_patches(const InputGeometry& geometry, Size2 patch) {
  return {{geometry.rows.origin, geometry.rows.step * static_cast<double>(patch.height)},
          {geometry.columns.origin, geometry.columns.step * static_cast<double>(patch.width)}};
}

MapPlacement rescaled(const MapPlacement& placement, Size2 from, Size2 to) {
  const auto axis = [](const AxisGeometry& geometry, std::int64_t side, std::int64_t new_side) {
    const double factor = static_cast<double>(new_side) / static_cast<double>(side);
    return AxisGeometry{geometry.origin * factor, geometry.step * factor};
  };
  return {axis(placement.rows, from.height, to.height), axis(placement.columns, from.width, to.width)};
}

Image draw_overlay(const Image& picture, const ConstTensorView& map, const MapPlacement& placement,
                   const OverlayOptions& options) {
  require_pixels(picture, "overlay");
  if (map.shape.size() != 2 || map.size() < 1) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("overlay: the map is {}, expected rows and columns", vit::to_string(map.shape)));
  }
  Image result = picture;
  try {
    const std::array<Rgb, 256> colours = inferno();
    const Levels levels(map, options.clip);
    const std::vector<Sample> rows = sample_axis(placement.rows, map.shape[0], picture.height);
    const std::vector<Sample> columns = sample_axis(placement.columns, map.shape[1], picture.width);
    std::uint8_t* pixel = result.pixels.data();
    for (const Sample& row : rows) {
      for (const Sample& column : columns) {
        const bool seen = row.seen && column.seen;
        const Rgb colour = seen ? colours[levels.at(row, column)] : Rgb{};
        for (const std::uint8_t channel : colour) {
          *pixel = to_byte(seen ? mix(*pixel, channel, options.alpha) : mix(*pixel, 255, kFading));
          ++pixel;
        }
      }
    }
  } catch (const cv::Exception& error) {
    throw Error(ErrorCode::internal, fmt::format("overlay: {}", error.what()));
  }
  return result;
}

Image thumbnail(const Image& picture, std::int64_t side) {
  const std::int64_t longer = std::max(picture.height, picture.width);
  const auto scaled = [&](std::int64_t length) {
    return std::max<std::int64_t>(1, (length * side + longer / 2) / std::max<std::int64_t>(longer, 1));
  };
  Image result = resize(picture, {scaled(picture.height), scaled(picture.width)}, Interpolation::bilinear);
  result.orientation = picture.orientation;
  return result;
}

}  // namespace vit::io
