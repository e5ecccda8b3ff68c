// NumPy's .npz: a zip archive of arrays, NAME.npy, stored or deflated. Google publishes ViT so. Internal.
//
// An array, https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//   6 bytes         \x93NUMPY
//   2 bytes         the version: 1.0, 2.0 or 3.0
//   2 or 4 bytes    the header's length, little-endian (4 since 2.0)
//   the header      a Python dict: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, and spaces
//   the rest        the elements, row by row, or column by column if fortran_order
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "io/strided_tensor.hpp"
#include "io/tensor_file.hpp"
#include "io/zip_archive.hpp"

namespace vit::io {

/// An archive with arrays, and nothing else.
bool is_npz(const ZipArchive& archive);

/// The arrays by their names without ".npy". Throws Error(weights_invalid) naming the entry: damaged, of
/// Python objects or records, big-endian.
TensorFileContent read_npz(const ZipArchive& archive);

/// One array. Refers to the bytes; its name is left empty. Throws std::runtime_error saying what is wrong.
StridedTensor parse_npy(std::span<const std::byte> file);

}  // namespace vit::io
