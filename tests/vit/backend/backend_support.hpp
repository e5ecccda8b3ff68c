// Weights for single layers.
#pragma once

#include "tests/reference/array.hpp"
#include "tests/support/random.hpp"
#include "vit/weights.hpp"

namespace vit::test {

inline WeightView view_of(const Tensor& tensor) {
  return {tensor.shape(), {{reinterpret_cast<const std::byte*>(tensor.data()), DType::f32, tensor.size()}}};
}

inline reference::Array widened(const Tensor& tensor) {
  return {tensor.shape(), {tensor.elements().begin(), tensor.elements().end()}};
}

}  // namespace vit::test
