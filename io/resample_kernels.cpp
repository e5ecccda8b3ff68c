#include "io/resample_kernels.hpp"

#include <algorithm>
#include <array>

namespace vit::io {
namespace {

constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

std::uint8_t to_pixel(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

void horizontal(const PixelRows& source, const TapTable& taps, std::uint8_t* target) {
  for (std::int64_t y = 0; y < source.rows; ++y) {
    const std::uint8_t* row = source.data + y * source.stride;
    for (std::int64_t x = 0; x < taps.size(); ++x) {
      const auto i = static_cast<std::size_t>(x);
      const std::uint8_t* pixel = row + 3 * taps.first[i];
      const std::int32_t* weight = taps.weights.data() + x * taps.stride;
      std::int32_t red = kHalf;
      std::int32_t green = kHalf;
      std::int32_t blue = kHalf;
      for (std::int64_t k = 0; k < taps.count[i]; ++k, pixel += 3) {
        red += pixel[0] * weight[k];
        green += pixel[1] * weight[k];
        blue += pixel[2] * weight[k];
      }
      *target++ = to_pixel(red);
      *target++ = to_pixel(green);
      *target++ = to_pixel(blue);
    }
  }
}

/// Columns are independent of each other: blocks of them keep the sums in the first-level cache, and the
/// compiler vectorises the loop over a block.
void vertical(const PixelRows& source, const TapTable& taps, std::uint8_t* target) {
  constexpr std::int64_t kBlock = 512;
  std::array<std::int32_t, kBlock> sums;
  const std::int64_t row_bytes = 3 * source.width;
  for (std::int64_t y = 0; y < taps.size(); ++y, target += row_bytes) {
    const auto i = static_cast<std::size_t>(y);
    const std::int32_t* weight = taps.weights.data() + y * taps.stride;
    for (std::int64_t begin = 0; begin < row_bytes; begin += kBlock) {
      const auto n = static_cast<std::size_t>(std::min(kBlock, row_bytes - begin));
      const std::uint8_t* column = source.data + taps.first[i] * source.stride + begin;
      std::fill_n(sums.begin(), n, kHalf);
      for (std::int64_t k = 0; k < taps.count[i]; ++k, column += source.stride) {
        for (std::size_t x = 0; x < n; ++x) sums[x] += column[x] * weight[k];
      }
      std::transform(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(n), target + begin, to_pixel);
    }
  }
}

}  // namespace

const ResampleKernels& portable_kernels() {
  static constexpr ResampleKernels kernels{horizontal, vertical};
  return kernels;
}

}  // namespace vit::io
