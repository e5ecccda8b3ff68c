// A tensor as it lies in a file: what all formats of weights are read into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "vit/tensor.hpp"

namespace vit::io {

/// An element type, by its name in safetensors.
struct StoredDType {
  std::string_view name;
  std::uint64_t bits;
  std::optional<DType> float_dtype = std::nullopt;  ///< if it is one that Vitrine can compute with
};

/// Of all that safetensors has; nullptr if there is none of this name.
const StoredDType* find_stored_dtype(std::string_view name);

/// `data` is row-major and little-endian, points into the memory of the file object, and may be misaligned.
struct StoredTensor {
  std::string name;
  std::string dtype;                 ///< as the file says: "F32", "I64", "F8_E4M3", …
  std::optional<DType> float_dtype;  ///< of `data`, if it is one that Vitrine can compute with
  Shape shape;
  std::span<const std::byte> data;
};

}  // namespace vit::io
