// A value that flows through a graph while it is evaluated: a tensor of any of the element types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "export/graph.hpp"
#include "vit/tensor.hpp"

namespace vit::exporter {

/// Limits that no graph of a ViT comes near. They keep a damaged one from taking all memory, and every
/// product of dimensions within 64 bits.
constexpr std::size_t kMaxRank = 8;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 30;

/// The number of elements; nothing where a dimension is negative, or the shape is beyond the limits. A
/// dimension of 0 counts as 1 here, so that any part of a shape is within them as well.
std::optional<std::int64_t> checked_count(std::span<const std::int64_t> shape);

/// Distances between neighbours along each axis of a row-major tensor, in elements.
Shape row_major_strides(std::span<const std::int64_t> shape);

/// Row-major and aligned. Copies share the memory.
class Value {
 public:
  Value() = default;
  /// Uninitialised. checked_count(shape) must have found it well.
  Value(ElementType type, Shape shape);

  ElementType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  std::int64_t size() const { return element_count(shape_); }
  std::int64_t byte_size() const { return size() * size_of(type_); }

  std::byte* bytes() { return memory_.get(); }
  const std::byte* bytes() const { return memory_.get(); }
  /// T is the element type's.
  template <class T>
  T* data() {
    return reinterpret_cast<T*>(memory_.get());
  }
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(memory_.get());
  }
  float* f32() { return data<float>(); }
  const float* f32() const { return data<float>(); }

  /// The same elements in another shape of as many.
  Value reshaped(Shape shape) const;
  /// f32 only.
  ConstTensorView view() const { return {f32(), shape_}; }

 private:
  ElementType type_ = ElementType::f32;
  Shape shape_;
  std::shared_ptr<std::byte> memory_;
};

}  // namespace vit::exporter
