// Compares a computed tensor with the one it should be. Made so that it cannot pass by accident: NaN,
// infinity, emptiness, an output that is zero or constant where the expected one is not, and a wrong shape
// all fail (compare_test.cpp plants each).
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>

#include "vit/tensor.hpp"

namespace vit::test {

/// How large the error may be, as a share of the largest expected magnitude.
struct Bound {
  double upper;
  double lower = 0;  ///< an error below this fails too: the bound has become too loose to catch anything
};

struct Comparison {
  double error = 0;     ///< max |got - want| / max |want|
  std::string problem;  ///< empty where everything is well; else names the tensor, the element and the values

  explicit operator bool() const { return problem.empty(); }
};

/// Compares element by element, in double precision. `name` is what messages call the tensor.
Comparison compare(std::string_view name, std::span<const float> got, std::span<const double> want,
                   std::span<const std::int64_t> shape, Bound bound);

/// The same for two f32 tensors; their shapes must be equal.
Comparison compare(std::string_view name, const ConstTensorView& got, const ConstTensorView& want,
                   Bound bound);

/// For EXPECT_TRUE: as compare().
testing::AssertionResult matches(std::string_view name, const ConstTensorView& got,
                                 const ConstTensorView& want, Bound bound);
testing::AssertionResult matches(std::string_view name, const ConstTensorView& got,
                                 std::span<const double> want, Bound bound);

}  // namespace vit::test
