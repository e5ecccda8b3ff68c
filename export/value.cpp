#include "export/value.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace vit::exporter {
namespace {

constexpr std::align_val_t kAlignment{64};

std::shared_ptr<std::byte> aligned_bytes(std::int64_t count) {
  auto* memory = static_cast<std::byte*>(::operator new[](static_cast<std::size_t>(count), kAlignment));
  return {memory, [](std::byte* p) { ::operator delete[](p, kAlignment); }};
}

}  // namespace

std::optional<std::int64_t> checked_count(std::span<const std::int64_t> shape) {
  if (shape.size() > kMaxRank) return std::nullopt;
  std::int64_t count = 1;
  std::int64_t product = 1;  // without the zeros
  for (const std::int64_t dim : shape) {
    const std::int64_t factor = std::max<std::int64_t>(dim, 1);
    if (dim < 0 || factor > kMaxElements / product) return std::nullopt;
    product *= factor;
    count *= dim;
  }
  return count;
}

Shape row_major_strides(std::span<const std::int64_t> shape) {
  Shape strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

Value::Value(ElementType type, Shape shape)
    : type_(type), shape_(std::move(shape)), memory_(aligned_bytes(byte_size())) {}

Value Value::reshaped(Shape shape) const {
  Value other = *this;
  other.shape_ = std::move(shape);
  return other;
}

}  // namespace vit::exporter
