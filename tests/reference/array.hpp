// A row-major array of doubles with one index per dimension: all that the naive network needs.
#pragma once

#include <cstddef>
#include <vector>

#include "vit/tensor.hpp"

namespace vit::reference {

struct Array {
  Array() = default;
  explicit Array(Shape dims) : shape(std::move(dims)) {
    values.resize(static_cast<std::size_t>(element_count(shape)));
  }
  Array(Shape dims, std::vector<double> content) : shape(std::move(dims)), values(std::move(content)) {}

  /// array(b, t, d)
  template <class... Indices>
  double& operator()(Indices... indices) {
    return values[offset(indices...)];
  }
  template <class... Indices>
  double operator()(Indices... indices) const {
    return values[offset(indices...)];
  }

  std::int64_t dim(std::size_t axis) const { return shape[axis]; }
  bool empty() const { return values.empty(); }

  Shape shape;
  std::vector<double> values;

 private:
  template <class... Indices>
  std::size_t offset(Indices... indices) const {
    std::int64_t at = 0;
    std::size_t axis = 0;
    ((at = at * shape[axis++] + static_cast<std::int64_t>(indices)), ...);
    return static_cast<std::size_t>(at);
  }
};

}  // namespace vit::reference
