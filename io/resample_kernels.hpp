// Inner loops of io/resample: one weighted sum, along rows and along columns. Internal; not installed.
#pragma once

#include <cstdint>
#include <vector>

#include "io/resample.hpp"

namespace vit::io {

/// Fixed point of the weights: 32 bits less 8 for the pixel and 2 for overshoot, as Pillow's.
inline constexpr int kWeightBits = 32 - 8 - 2;

/// Output position i is the sum of count[i] inputs from first[i] on, each times its weight.
struct TapTable {
  /// Weights are stored in groups of four, filled up with zeros, for the vector kernels.
  static constexpr std::int64_t kGroup = 4;
  /// weight = high * 2^kLowBits + low, with both parts small enough for 16-bit multiplications.
  static constexpr int kLowBits = 10;

  std::int64_t stride = 0;  ///< weights stored for each output, a multiple of kGroup
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> count;
  std::vector<std::int32_t> weights;  ///< [outputs, stride]
  std::vector<std::int16_t> high;     ///< [outputs, stride]
  std::vector<std::int16_t> low;      ///< [outputs, stride]

  std::int64_t size() const { return static_cast<std::int64_t>(first.size()); }
};

/// Rows of RGB pixels in memory: readable from `data` to the last pixel of the last row.
struct PixelRows {
  const std::uint8_t* data = nullptr;
  std::int64_t stride = 0;  ///< bytes from one row to the next
  std::int64_t rows = 0;
  std::int64_t width = 0;  ///< pixels
};

/// One implementation of both passes. All give the same pixels: the arithmetic is integer.
struct ResampleKernels {
  /// [rows, width, 3] -> [rows, taps.size(), 3]
  void (*horizontal)(const PixelRows& source, const TapTable& taps, std::uint8_t* target);
  /// [rows, width, 3] -> [taps.size(), width, 3]
  void (*vertical)(const PixelRows& source, const TapTable& taps, std::uint8_t* target);
};

const ResampleKernels& portable_kernels();
/// nullptr where this processor has no AVX2.
const ResampleKernels* avx2_kernels();

/// resize_region() with chosen kernels, for tests and benchmarks.
Image resize_region(const Image& image, Size2 size, Interpolation filter, const Region& region,
                    const ResampleKernels& kernels);

}  // namespace vit::io
