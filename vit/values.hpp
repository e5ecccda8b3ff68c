// The numbers that one layer hands to the next: f32, or rounded for the products that read them. Internal to
// vit/.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vit/large_memory.hpp"

namespace vit {

enum class ValueType {
  f32,
  bf16,
  u8,  ///< (q − zero) · scale, each row with a scale and a zero of its own
};

/// Bytes of one element.
constexpr std::int64_t size_of(ValueType type) {
  return type == ValueType::f32 ? 4 : type == ValueType::bf16 ? 2 : 1;
}

/// How a row of u8 is read: x = (q − zero) · scale.
struct RowScale {
  float scale;
  std::int32_t zero;
};

/// Row-major values that somebody else owns.
struct ConstValues {
  ConstValues(const float* values) : data(values) {}
  ConstValues(const void* values, ValueType value_type, const RowScale* row_scales)
      : data(values), type(value_type), scales(row_scales) {}

  /// Those from an element on; not of u8, whose scales belong to rows.
  ConstValues at(std::int64_t element) const {
    return {static_cast<const std::byte*>(data) + element * size_of(type), type, nullptr};
  }
  /// Those from a row on.
  ConstValues from_row(std::int64_t row, std::int64_t columns) const {
    return {at(row * columns).data, type, scales == nullptr ? nullptr : scales + row};
  }

  const void* data;
  ValueType type = ValueType::f32;
  const RowScale* scales = nullptr;  ///< of each row, of u8
};

/// As ConstValues, writable.
struct Values {
  Values(float* values) : data(values) {}
  Values(void* values, ValueType value_type, RowScale* row_scales)
      : data(values), type(value_type), scales(row_scales) {}
  operator ConstValues() const { return {data, type, scales}; }

  Values at(std::int64_t element) const {
    return {static_cast<std::byte*>(data) + element * size_of(type), type, nullptr};
  }
  Values from_row(std::int64_t row, std::int64_t columns) const {
    return {at(row * columns).data, type, scales == nullptr ? nullptr : scales + row};
  }

  void* data;
  ValueType type = ValueType::f32;
  RowScale* scales = nullptr;
};

/// Values [rows, columns] in memory of a pool, which outlives them. Zeros at first.
class ValueBuffer {
 public:
  ValueBuffer() : values_(nullptr) {}
  /// Throws std::bad_alloc.
  ValueBuffer(std::int64_t rows, std::int64_t columns, ValueType type, LargeMemoryPool& memory);

  Values values() const { return values_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t size() const { return rows_ * columns_; }

 private:
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  Values values_;
};

}  // namespace vit
