// Tensors: an owning one and two views. Small on purpose; arithmetic lives in the layers.
//
// Dimension letters, used everywhere in Vitrine:
//   B batch · C channels · H, W pixels · P patch · N patches · T tokens · D embedding · h heads · d head size
//   · F MLP width · L depth · K classes
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vit {

/// Storage type of the elements of a tensor in a file. i8: integers that mean something only with the scale
/// of their row.
enum class DType { f32, f16, bf16, i8 };

/// Bytes of one element.
constexpr std::int64_t size_of(DType dtype) {
  return dtype == DType::f32 ? 4 : dtype == DType::i8 ? 1 : 2;
}

/// "F32", "F16", "BF16", "I8": the names safetensors uses.
std::string_view to_string(DType dtype);

/// Dimensions, outermost first; empty for a scalar. Signed, so that differences are safe.
using Shape = std::vector<std::int64_t>;

/// Product of the dimensions; 1 for a scalar. The caller has checked that it cannot overflow.
std::int64_t element_count(std::span<const std::int64_t> shape);

/// "[3, 224, 224]"
std::string to_string(std::span<const std::int64_t> shape);

/// A row-major f32 tensor that somebody else owns. Cheap to copy, but for the shape.
struct ConstTensorView {
  const float* data = nullptr;
  Shape shape;

  std::int64_t size() const { return element_count(shape); }
};

/// As ConstTensorView, writable.
struct TensorView {
  float* data = nullptr;
  Shape shape;

  std::int64_t size() const { return element_count(shape); }
  operator ConstTensorView() const { return {data, shape}; }
};

/// Owns 64-byte aligned, uninitialised f32 memory. Move-only; clone() copies.
class Tensor {
 public:
  Tensor() = default;
  /// Throws std::bad_alloc, also for dimensions that are negative or whose product is beyond counting. The
  /// elements are uninitialised.
  explicit Tensor(Shape shape);

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  const Shape& shape() const { return shape_; }
  std::int64_t size() const { return data_ ? element_count(shape_) : 0; }

  TensorView view() { return {data_.get(), shape_}; }
  ConstTensorView view() const { return {data_.get(), shape_}; }
  std::span<float> elements() { return {data_.get(), static_cast<std::size_t>(size())}; }
  std::span<const float> elements() const { return {data_.get(), static_cast<std::size_t>(size())}; }

  Tensor clone() const;

 private:
  struct AlignedDelete {
    void operator()(float* p) const noexcept;
  };

  Shape shape_;
  std::unique_ptr<float[], AlignedDelete> data_;
};

}  // namespace vit
