// Writes NumPy's .npy files of f32 values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "vit/file.hpp"
#include "vit/tensor.hpp"

namespace vit::io {

/// An array [rows, row shape …] whose rows come one after the other: their number need not be known before
/// the end. The file appears complete in finish(), or not at all. Format version 1.0, little-endian, C order,
/// the data at a multiple of 64 bytes, so that it can be mapped (numpy.lib.format).
class NpyWriter {
 public:
  /// Throws Error: output_unwritable (at once, not after the work is done), invalid_argument (a row of no
  /// values).
  NpyWriter(const std::filesystem::path& target, Shape row_shape);

  /// Appends values of one row, several, or a part of one. Throws Error(output_unwritable).
  void write(std::span<const float> values);

  /// Writes the header and puts the file in place. Throws Error: output_unwritable, invalid_argument (the
  /// last row lacks values).
  void finish();

 private:
  AtomicFile file_;
  Shape row_shape_;
  std::int64_t row_size_;
  std::size_t header_bytes_ = 0;
  std::int64_t written_ = 0;  // values
};

/// An array of any shape, [] included, in one call. Throws Error(output_unwritable).
void write_npy(const std::filesystem::path& target, const ConstTensorView& array);

}  // namespace vit::io
