#include "io/resample_float.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "io/resample_filter.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

using Outputs = std::vector<FilterWeights::Output>;

/// torch.nn.functional.interpolate(mode="nearest-exact"), which transformers' processors take for Pillow's
/// nearest: the ratio is single precision, and so is the position before it is rounded down.
Outputs nearest_outputs(const Axis& axis) {
  const float ratio = static_cast<float>(axis.source) / static_cast<float>(axis.target);
  Outputs outputs;
  for (std::int64_t i = 0; i < axis.outputs; ++i) {
    const double position = (static_cast<double>(axis.begin + i) + 0.5) * static_cast<double>(ratio);
    const auto at = static_cast<std::int64_t>(static_cast<float>(position));
    outputs.push_back({std::min(at, axis.source - 1), {1.0}});
  }
  return outputs;
}

Outputs outputs_of(const Axis& axis, Interpolation filter) {
  if (filter == Interpolation::nearest) return nearest_outputs(axis);
  const FilterWeights weights(axis, filter_of(filter));
  Outputs outputs(static_cast<std::size_t>(axis.outputs));
  for (std::int64_t i = 0; i < axis.outputs; ++i) weights.compute(i, outputs[static_cast<std::size_t>(i)]);
  return outputs;
}

void check(const Image& image, Size2 size, Interpolation filter, const Region& region, std::size_t floats) {
  const auto inside = [](std::int64_t begin, std::int64_t n, std::int64_t end) {
    return begin >= 0 && n > 0 && n <= end && begin <= end - n;
  };
  if (image.height < 1 || image.width < 1 || !inside(region.top, region.height, size.height) ||
      !inside(region.left, region.width, size.width) ||
      floats != static_cast<std::size_t>(3 * region.height * region.width)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("resize: {} x {} at ({}, {}) of {} x {} pixels into {} floats, from {} x {}",
                            region.width, region.height, region.left, region.top, size.width, size.height,
                            floats, image.width, image.height));
  }
  if (filter != Interpolation::bilinear && filter != Interpolation::bicubic &&
      filter != Interpolation::nearest) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("resize: {} is not defined in floating point", to_string(filter)));
  }
}

/// Rows of the picture -> rows as wide as the region, R G B interleaved.
void resize_row(const std::uint8_t* row, float scale, const Outputs& columns, float* dst) {
  for (const FilterWeights::Output& column : columns) {
    double sum[3] = {0, 0, 0};
    const std::uint8_t* pixel = row + 3 * column.first;
    for (const double weight : column.weight) {
      for (int c = 0; c < 3; ++c)
        sum[c] += weight * static_cast<double>(scale * static_cast<float>(*pixel++));
    }
    for (const double value : sum) *dst++ = static_cast<float>(value);
  }
}

}  // namespace

void resize_float(const Image& image, float scale, Size2 size, Interpolation filter, const Region& region,
                  std::span<float> dst) {
  check(image, size, filter, region, dst.size());
  const Outputs rows = outputs_of({image.height, size.height, region.top, region.height}, filter);
  const Outputs columns = outputs_of({image.width, size.width, region.left, region.width}, filter);
  const std::int64_t first = rows.front().first;
  const std::int64_t end = rows.back().first + std::ssize(rows.back().weight);
  const std::int64_t stride = 3 * region.width;
  std::vector<float> narrow(static_cast<std::size_t>((end - first) * stride));
  for (std::int64_t y = first; y < end; ++y) {
    resize_row(image.pixels.data() + 3 * y * image.width, scale, columns,
               narrow.data() + (y - first) * stride);
  }
  std::vector<double> sum(static_cast<std::size_t>(stride));
  const std::int64_t plane = region.height * region.width;
  for (std::int64_t y = 0; y < region.height; ++y) {
    const FilterWeights::Output& row = rows[static_cast<std::size_t>(y)];
    std::fill(sum.begin(), sum.end(), 0.0);
    const float* source = narrow.data() + (row.first - first) * stride;
    for (const double weight : row.weight) {
      for (double& value : sum) value += weight * static_cast<double>(*source++);
    }
    for (std::int64_t x = 0; x < region.width; ++x) {
      for (std::int64_t c = 0; c < 3; ++c)
        dst[static_cast<std::size_t>(c * plane + y * region.width + x)] =
            static_cast<float>(sum[static_cast<std::size_t>(3 * x + c)]);
    }
  }
}

}  // namespace vit::io
