// Copies of n-dimensional pieces: what Transpose, Slice, Concat, Pad and Expand have in common.
#pragma once

#include <cstddef>
#include <cstdint>

#include "export/workers.hpp"
#include "vit/tensor.hpp"

namespace vit::exporter {

/// Where the elements of a piece lie. Strides are in elements, one per axis; 0 repeats an element.
struct StridedSource {
  const std::byte* data = nullptr;
  Shape strides;
};

struct StridedTarget {
  std::byte* data = nullptr;
  Shape strides;
};

/// Copies shape[0] × shape[1] × … elements of 1, 2, 4 or 8 bytes. The target's elements differ from each
/// other and from the source's; everything is within the limits of export/value.hpp.
void copy_strided(const Shape& shape, std::int64_t element_bytes, const StridedTarget& target,
                  const StridedSource& source, Workers& workers);

}  // namespace vit::exporter
