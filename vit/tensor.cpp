#include "vit/tensor.hpp"

#include <algorithm>
#include <limits>
#include <new>

namespace vit {
namespace {

constexpr std::align_val_t kAlignment{64};  // one cache line, one AVX-512 register

/// Bytes of a tensor, at least one element. Throws std::bad_array_new_length where they cannot be counted.
std::size_t checked_bytes(std::span<const std::int64_t> shape) {
  std::int64_t bytes = sizeof(float);
  for (const std::int64_t dim : shape) {
    const std::int64_t factor = std::max<std::int64_t>(dim, 1);
    if (dim < 0 || bytes > std::numeric_limits<std::int64_t>::max() / factor) {
      throw std::bad_array_new_length();
    }
    bytes *= factor;
  }
  return static_cast<std::size_t>(bytes);
}

}  // namespace

std::string_view to_string(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "F32";
    case DType::f16:
      return "F16";
    case DType::bf16:
      return "BF16";
  }
  return "?";
}

std::int64_t element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count *= dim;
  return count;
}

std::string to_string(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const std::int64_t dim : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(dim);
  }
  return text + "]";
}

void Tensor::AlignedDelete::operator()(float* p) const noexcept {
  ::operator delete[](p, kAlignment);
}

Tensor::Tensor(Shape shape) : shape_(std::move(shape)) {
  data_.reset(static_cast<float*>(::operator new[](checked_bytes(shape_), kAlignment)));
}

Tensor Tensor::clone() const {
  if (!data_) return {};
  Tensor copy(shape_);
  std::copy_n(data_.get(), size(), copy.data());
  return copy;
}

}  // namespace vit
