// Tensors as Python's libraries keep them, a walk through a storage, -> as they are computed with. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/owned_bytes.hpp"
#include "io/stored_tensor.hpp"

namespace vit::io {

struct ElementType {
  std::string name;  ///< as safetensors calls it, where that has it
  std::size_t size = 0;
  std::optional<DType> float_dtype = std::nullopt;
  bool is_f64 = false;
};

/// "F32", "I64", …: what several formats have, under its name in safetensors. Throws Error(internal) for
/// others.
ElementType element_type(std::string_view name);

struct StridedTensor {
  std::string name;
  ElementType type;
  Shape shape;
  Shape strides;            ///< of each axis, in elements
  std::int64_t offset = 0;  ///< of the first element, in elements
  std::span<const std::byte> storage;
};

/// The strides of a tensor without gaps, the last axis first. Nothing where they overflow.
std::optional<Shape> row_major_strides(const Shape& shape);

/// Row-major, in place where it is that already, else copied; F64 narrowed to F32. Throws
/// Error(weights_invalid) naming the file and the tensor: negative sizes, elements outside of the storage,
/// more than `memory` may hold.
StoredTensor to_stored(const StridedTensor& tensor, std::string_view file_name, OwnedBytes& memory);

}  // namespace vit::io
