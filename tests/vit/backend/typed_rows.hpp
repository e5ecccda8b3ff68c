// Rows of numbers of any type, for layers that read or write them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tests/reference/array.hpp"
#include "tests/support/bf16_value.hpp"
#include "vit/backend/convert.hpp"
#include "vit/values.hpp"

namespace vit::test {

class TypedRows {
 public:
  TypedRows(std::int64_t rows, std::int64_t columns, ValueType type)
      : columns_(columns), buffer_(rows, columns, type, memory_) {}

  /// The tensor's elements, rounded to the type.
  TypedRows(const Tensor& tensor, std::int64_t columns, ValueType type)
      : TypedRows(tensor.size() / columns, columns, type) {
    backend::convert_rows(tensor.data(), {tensor.size() / columns, columns}, values());
  }

  Values values() const { return buffer_.values(); }

  /// What the row's elements are read as.
  double at(std::int64_t i) const {
    const Values all = values();
    switch (all.type) {
      case ValueType::f32:
        return static_cast<double>(static_cast<const float*>(all.data)[i]);
      case ValueType::bf16:
        return static_cast<double>(bf16_value(static_cast<const std::uint16_t*>(all.data)[i]));
      case ValueType::u8:
        return (level(i) - scale_of(i).zero) * static_cast<double>(scale_of(i).scale);
    }
    return 0;
  }

  /// Of u8: the numbers as they lie there, and how their row is read.
  int level(std::int64_t i) const { return static_cast<const std::uint8_t*>(values().data)[i]; }
  RowScale scale_of(std::int64_t i) const { return values().scales[i / columns_]; }

  Tensor narrowed() const {
    Tensor all({buffer_.rows(), columns_});
    for (std::int64_t i = 0; i < all.size(); ++i) all.data()[i] = static_cast<float>(at(i));
    return all;
  }
  reference::Array widened() const {
    reference::Array all({buffer_.rows(), columns_});
    for (std::size_t i = 0; i < all.values.size(); ++i) all.values[i] = at(static_cast<std::int64_t>(i));
    return all;
  }

 private:
  LargeMemoryPool memory_;
  std::int64_t columns_;
  ValueBuffer buffer_;
};

}  // namespace vit::test
