#include "io/resample_float.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "io/resample_filter.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

/// How the inputs [first, first + weight.size()) of an axis add up to one of its outputs.
struct Taps {
  std::int64_t first = 0;
  std::vector<float> weight;
};

using Outputs = std::vector<Taps>;

// PyTorch computes the weights in single precision (aten/src/ATen/native/cpu/UpSampleKernel.cpp): in double,
// where Pillow computes them, results are other ones by up to 7e-5.

float triangle(float x) {
  return x < 1.0F ? 1.0F - x : 0.0F;
}

/// Keys (1981), doi:10.1109/TASSP.1981.1163711, with a = -0.5.
float cubic(float x) {
  constexpr float a = -0.5F;
  if (x < 1.0F) return ((a + 2.0F) * x - (a + 3.0F)) * x * x + 1.0F;
  return x < 2.0F ? (((x - 5.0F) * x + 8.0F) * x - 4.0F) * a : 0.0F;
}

Outputs filtered_outputs(const Axis& axis, Interpolation filter) {
  const bool linear = filter == Interpolation::bilinear;
  const float scale = static_cast<float>(axis.source) / static_cast<float>(axis.target);
  const float stretch = std::max(scale, 1.0F);  // antialias only when shrinking
  const float support = (linear ? 1.0F : 2.0F) * stretch;
  const float inverse = 1.0F / stretch;
  Outputs outputs;
  for (std::int64_t i = 0; i < axis.outputs; ++i) {
    const float center = scale * (static_cast<float>(axis.begin + i) + 0.5F);
    Taps taps{std::max<std::int64_t>(static_cast<std::int64_t>(center - support + 0.5F), 0), {}};
    const auto end = std::min(static_cast<std::int64_t>(center + support + 0.5F), axis.source);
    float sum = 0.0F;
    for (std::int64_t at = taps.first; at < end; ++at) {
      const float x = std::fabs((static_cast<float>(at) - center + 0.5F) * inverse);
      taps.weight.push_back(linear ? triangle(x) : cubic(x));
      sum += taps.weight.back();
    }
    if (sum != 0.0F) {
      for (float& weight : taps.weight) weight /= sum;
    }
    outputs.push_back(std::move(taps));
  }
  return outputs;
}

/// torch.nn.functional.interpolate(mode="nearest-exact"): the input under the centre.
Outputs nearest_outputs(const Axis& axis) {
  const float ratio = static_cast<float>(axis.source) / static_cast<float>(axis.target);
  Outputs outputs;
  for (std::int64_t i = 0; i < axis.outputs; ++i) {
    const auto at = static_cast<std::int64_t>((static_cast<float>(axis.begin + i) + 0.5F) * ratio);
    outputs.push_back({std::min(at, axis.source - 1), {1.0F}});
  }
  return outputs;
}

Outputs outputs_of(const Axis& axis, Interpolation filter) {
  return filter == Interpolation::nearest ? nearest_outputs(axis) : filtered_outputs(axis, filter);
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
  for (const Taps& column : columns) {
    double sum[3] = {0, 0, 0};
    const std::uint8_t* pixel = row + 3 * column.first;
    for (const float weight : column.weight) {
      for (int c = 0; c < 3; ++c)
        sum[c] += static_cast<double>(weight) * static_cast<double>(scale * static_cast<float>(*pixel++));
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
    const Taps& row = rows[static_cast<std::size_t>(y)];
    std::fill(sum.begin(), sum.end(), 0.0);
    const float* source = narrow.data() + (row.first - first) * stride;
    for (const float weight : row.weight) {
      for (double& value : sum) value += static_cast<double>(weight) * static_cast<double>(*source++);
    }
    for (std::int64_t x = 0; x < region.width; ++x) {
      for (std::int64_t c = 0; c < 3; ++c)
        dst[static_cast<std::size_t>(c * plane + y * region.width + x)] =
            static_cast<float>(sum[static_cast<std::size_t>(3 * x + c)]);
    }
  }
}

}  // namespace vit::io
