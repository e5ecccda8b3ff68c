#include "io/resample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "io/resample_filter.hpp"
#include "io/resample_kernels.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

// ---------------------------------------------------------------------------------------------- weights

/// Rounded half away from zero, as Pillow does.
std::int32_t to_fixed_point(double weight) {
  const double scaled = weight * (1 << kWeightBits);
  return static_cast<std::int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

/// Weights in fixed point.
TapTable make_taps(const Axis& axis, const Filter& filter) {
  const FilterWeights weights(axis, filter);
  TapTable taps;
  taps.stride = (weights.most() + TapTable::kGroup - 1) / TapTable::kGroup * TapTable::kGroup;
  const auto stored = static_cast<std::size_t>(axis.outputs * taps.stride);
  taps.weights.resize(stored);
  taps.high.resize(stored);
  taps.low.resize(stored);
  taps.first.reserve(static_cast<std::size_t>(axis.outputs));
  taps.count.reserve(static_cast<std::size_t>(axis.outputs));
  FilterWeights::Output output;
  for (std::int64_t i = 0; i < axis.outputs; ++i) {
    weights.compute(i, output);
    const auto row = static_cast<std::size_t>(i * taps.stride);
    for (std::size_t k = 0; k < output.weight.size(); ++k) {
      const std::int32_t weight = to_fixed_point(output.weight[k]);
      taps.weights[row + k] = weight;
      taps.high[row + k] = static_cast<std::int16_t>(weight >> TapTable::kLowBits);
      taps.low[row + k] = static_cast<std::int16_t>(weight & ((1 << TapTable::kLowBits) - 1));
    }
    taps.first.push_back(output.first);
    taps.count.push_back(std::ssize(output.weight));
  }
  return taps;
}

// ---------------------------------------------------------------------------------------------- passes

std::size_t byte_count(std::int64_t height, std::int64_t width) {
  return static_cast<std::size_t>(height * width * 3);
}

Image empty_image(std::int64_t height, std::int64_t width) {
  return {height, width, std::vector<std::uint8_t>(byte_count(height, width))};
}

Image copy_region(const Image& image, const Region& region) {
  Image result = empty_image(region.height, region.width);
  const auto row_bytes = static_cast<std::size_t>(3 * region.width);
  for (std::int64_t y = 0; y < region.height; ++y) {
    const std::uint8_t* row = image.pixels.data() + 3 * ((region.top + y) * image.width + region.left);
    std::memcpy(result.pixels.data() + static_cast<std::size_t>(y) * row_bytes, row, row_bytes);
  }
  return result;
}

/// The source position under the centre of every output. Pillow adds up the step instead of multiplying it;
/// with other rounding errors, pixels that lie exactly on a border would come from the other side of it.
std::vector<std::int64_t> nearest_positions(const Axis& axis) {
  const double step = static_cast<double>(axis.source) / static_cast<double>(axis.target);
  std::vector<std::int64_t> positions;
  positions.reserve(static_cast<std::size_t>(axis.outputs));
  double at = step * 0.5;
  for (std::int64_t i = 0; i < axis.begin + axis.outputs; ++i, at += step) {
    if (i >= axis.begin) positions.push_back(std::min(static_cast<std::int64_t>(at), axis.source - 1));
  }
  return positions;
}

Image resize_nearest(const Image& image, const Axis& rows, const Axis& columns) {
  const std::vector<std::int64_t> from_rows = nearest_positions(rows);
  std::vector<std::int64_t> from_columns = nearest_positions(columns);
  Image result = empty_image(rows.outputs, columns.outputs);
  const std::size_t row_bytes = byte_count(1, columns.outputs);
  for (std::int64_t& column : from_columns) column *= 3;  // bytes from here on
  // Four bytes are copied faster than three where there is one more to read and to overwrite later.
  const auto last_column =
      std::lower_bound(from_columns.begin(), from_columns.end() - 1, 3 * (image.width - 1));
  std::uint8_t* target = result.pixels.data();
  for (std::size_t y = 0; y < from_rows.size(); ++y) {
    if (y > 0 && from_rows[y] == from_rows[y - 1]) {
      std::memcpy(target, target - row_bytes, row_bytes);
      target += row_bytes;
      continue;
    }
    const std::uint8_t* row = image.pixels.data() + 3 * from_rows[y] * image.width;
    for (auto x = from_columns.begin(); x != last_column; ++x, target += 3) std::memcpy(target, row + *x, 4);
    for (auto x = last_column; x != from_columns.end(); ++x, target += 3) std::memcpy(target, row + *x, 3);
  }
  return result;
}

/// Pillow 13 makes the rows first where the height shrinks by far more pixels than the width (python-pillow
/// #9549). The pixels between the passes are rounded to 8 bits, so the order shows in the result.
bool rows_first(const Axis& rows, const Axis& columns) {
  return rows.source > rows.target && rows.source - rows.target > 2 * (columns.source - columns.target);
}

/// Inputs [first, first + count) that the outputs of an axis need. Neither end of the taps ever decreases
/// from one output to the next. Shifts the taps to start there.
struct Needed {
  std::int64_t first;
  std::int64_t count;
};

Needed shift_to_first(TapTable& taps) {
  const Needed needed{taps.first.front(), taps.first.back() + taps.count.back() - taps.first.front()};
  for (std::int64_t& first : taps.first) first -= needed.first;
  return needed;
}

PixelRows part(const Image& image, const Needed& rows, const Needed& columns) {
  return {image.pixels.data() + 3 * (rows.first * image.width + columns.first), 3 * image.width, rows.count,
          columns.count};
}

/// Two passes with 8 bits in between, each over what the region needs only. A side that keeps its length has
/// no pass.
Image resize_filtered(const Image& image, const Axis& rows, const Axis& columns, const Filter& filter,
                      const ResampleKernels& kernels) {
  Image result = empty_image(rows.outputs, columns.outputs);
  Needed source_rows{rows.begin, rows.outputs};
  Needed source_columns{columns.begin, columns.outputs};
  TapTable row_taps;
  TapTable column_taps;
  if (!rows.unchanged()) {
    row_taps = make_taps(rows, filter);
    source_rows = shift_to_first(row_taps);
  }
  if (!columns.unchanged()) {
    column_taps = make_taps(columns, filter);
    source_columns = shift_to_first(column_taps);
  }
  const PixelRows source = part(image, source_rows, source_columns);

  if (rows.unchanged()) {
    kernels.horizontal(source, column_taps, result.pixels.data());
  } else if (columns.unchanged()) {
    kernels.vertical(source, row_taps, result.pixels.data());
  } else if (rows_first(rows, columns)) {
    const auto between =
        std::make_unique_for_overwrite<std::uint8_t[]>(byte_count(rows.outputs, source.width));
    kernels.vertical(source, row_taps, between.get());
    kernels.horizontal({between.get(), 3 * source.width, rows.outputs, source.width}, column_taps,
                       result.pixels.data());
  } else {
    const auto between =
        std::make_unique_for_overwrite<std::uint8_t[]>(byte_count(source.rows, columns.outputs));
    kernels.horizontal(source, column_taps, between.get());
    kernels.vertical({between.get(), 3 * columns.outputs, source.rows, columns.outputs}, row_taps,
                     result.pixels.data());
  }
  return result;
}

void check(const Image& image, Size2 size, const Region& region) {
  const auto side = [](std::int64_t n) { return n > 0 && n <= std::numeric_limits<std::int32_t>::max(); };
  const auto inside = [](std::int64_t begin, std::int64_t n, std::int64_t end) {
    return begin >= 0 && n > 0 && n <= end && begin <= end - n;
  };
  if (!side(image.height) || !side(image.width) || !side(size.height) || !side(size.width)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("resize: {} x {} pixels to {} x {}: sides must be 1 … 2^31 - 1", image.width,
                            image.height, size.width, size.height));
  }
  if (image.pixels.size() != static_cast<std::size_t>(image.height * image.width * 3)) {
    throw Error(ErrorCode::invalid_argument, fmt::format("resize: {} bytes for {} x {} RGB pixels",
                                                         image.pixels.size(), image.width, image.height));
  }
  if (!inside(region.top, region.height, size.height) || !inside(region.left, region.width, size.width)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("resize: region {} x {} at ({}, {}) of {} x {} pixels", region.width,
                            region.height, region.left, region.top, size.width, size.height));
  }
}

}  // namespace

std::string_view to_string(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::nearest:
      return "nearest";
    case Interpolation::lanczos:
      return "lanczos";
    case Interpolation::bilinear:
      return "bilinear";
    case Interpolation::bicubic:
      return "bicubic";
    case Interpolation::box:
      return "box";
    case Interpolation::hamming:
      return "hamming";
  }
  return "?";
}

Image resize_region(const Image& image, Size2 size, Interpolation filter, const Region& region,
                    const ResampleKernels& kernels) {
  check(image, size, region);
  if (size == Size2{image.height, image.width}) return copy_region(image, region);
  const Axis rows{image.height, size.height, region.top, region.height};
  const Axis columns{image.width, size.width, region.left, region.width};
  if (filter == Interpolation::nearest) return resize_nearest(image, rows, columns);
  return resize_filtered(image, rows, columns, filter_of(filter), kernels);
}

Image resize_region(const Image& image, Size2 size, Interpolation filter, const Region& region) {
  static const ResampleKernels& best = avx2_kernels() != nullptr ? *avx2_kernels() : portable_kernels();
  return resize_region(image, size, filter, region, best);
}

Image resize(const Image& image, Size2 size, Interpolation filter) {
  return resize_region(image, size, filter, {0, 0, size.height, size.width});
}

}  // namespace vit::io
