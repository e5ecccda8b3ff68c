#include "vit/backend/linear.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>
#include <string>

#include "tests/reference/layers.hpp"
#include "tests/support/compare.hpp"
#include "tests/vit/backend/backend_support.hpp"

namespace vit::test {
namespace {

struct LinearShape {
  std::int64_t rows;
  std::int64_t in;
  std::int64_t out;
};

std::ostream& operator<<(std::ostream& out, const LinearShape& s) {
  return out << s.rows << "x" << s.in << "_to_" << s.out;
}

/// The steepest slope between -x and x; 1 where it is not above 1.13.
double steepness(std::optional<Activation> activation, double x) {
  if (activation == Activation::relu2) return 2 * x;
  if (activation == Activation::selu) return 1.76;       // at 0
  if (activation == Activation::hard_swish) return 1.5;  // at 3
  if (activation == Activation::laplace) return 1.42;    // 1 / (√(2π) σ), at μ
  return 1;
}

/// Rounding errors of K products are as good as random: √K u of the largest sum, times the slope.
/// oneDNN's activations add up to 12 u of min(|x|, 1) (gelu without AVX-512).
Bound bound(std::int64_t K, const reference::Array& sums, const reference::Array& results,
            std::optional<Activation> activation = {}) {
  const auto largest = [](const reference::Array& array) {
    double most = 0;
    for (const double value : array.values) most = std::max(most, std::abs(value));
    return most;
  };
  constexpr double u = 0x1p-24;
  const double sum = largest(sums);
  const double slope = steepness(activation, sum);
  const double allowed =
      (2 + std::sqrt(static_cast<double>(K))) * u * slope * sum + 12 * u * std::min(sum, 1.0);
  return {allowed / largest(results)};
}

class LinearLayer : public testing::TestWithParam<LinearShape> {
 protected:
  /// Runs a layer with this epilogue and compares it with the formula.
  void check(const backend::Epilogue& epilogue, bool with_bias, bool with_scale) {
    const std::vector<float> factors(scale.elements().begin(), scale.elements().end());
    const LinearWeights weights{view_of(weight), with_bias ? view_of(bias) : WeightView{}};
    const backend::PackedLinear packed(weights, s.rows, with_scale ? std::span(factors) : std::span<float>{});
    ASSERT_EQ(packed.in(), s.in);
    ASSERT_EQ(packed.out(), s.out);
    backend::Context context;
    backend::Linear linear(context, s.rows, packed, epilogue);
    Tensor dst = before.clone();
    linear.run(src.data(), packed, dst.data());

    using namespace reference;
    Array expected = reference::linear(widened(src), widened(weight), with_bias ? widened(bias) : Array());
    if (with_scale) expected = scale_channels(std::move(expected), widened(scale));
    const Array sums = expected;
    if (epilogue.activation) expected = activate(*epilogue.activation, std::move(expected));
    if (epilogue.accumulate) expected = add(std::move(expected), widened(before));
    EXPECT_TRUE(matches(linear.kernel(), dst.view(), expected.values,
                        bound(s.in, sums, expected, epilogue.activation)));
    EXPECT_EQ(linear.kernel().find("ref"), std::string::npos) << linear.kernel();
  }

  const LinearShape s = GetParam();
  const Tensor src = normal_tensor({s.rows, s.in}, 1);
  const Tensor weight = normal_tensor({s.out, s.in}, 2, 2 / std::sqrt(static_cast<double>(s.in)));
  const Tensor bias = normal_tensor({s.out}, 3);
  const Tensor scale = normal_tensor({s.out}, 4, 0.3, 0.5);
  const Tensor before = normal_tensor({s.rows, s.out}, 5);
};

TEST_P(LinearLayer, Plain) {
  check({}, true, false);
  check({}, false, false);
}

TEST_P(LinearLayer, ScaledOutputs) {
  check({}, true, true);
  check({}, false, true);
}

TEST_P(LinearLayer, AddedToWhatIsThere) {
  check({.activation = {}, .accumulate = true}, true, false);
  check({.activation = {}, .accumulate = true}, false, true);
}

TEST_P(LinearLayer, EveryActivation) {
  for (const Activation activation : reference::every_activation()) {
    SCOPED_TRACE(to_string(activation));
    check({.activation = activation}, true, false);
  }
}

INSTANTIATE_TEST_SUITE_P(All, LinearLayer,
                         testing::Values(LinearShape{1, 1, 2}, LinearShape{1, 13, 7}, LinearShape{2, 47, 1},
                                         LinearShape{3, 1, 5}, LinearShape{17, 16, 16},
                                         LinearShape{5, 31, 64}, LinearShape{63, 65, 129},
                                         LinearShape{197, 192, 576}, LinearShape{1, 768, 1000},
                                         LinearShape{33, 1021, 3}),
                         testing::PrintToStringParamName());

// The layout is chosen for the rows that the packer was told; other numbers of rows must work with it.
TEST(PackedLinear, ServesOtherNumbersOfRows) {
  const Tensor weight = normal_tensor({96, 80}, 1, 0.2);
  const Tensor bias = normal_tensor({96}, 2);
  for (const std::int64_t packed_for : {1, 197}) {
    const backend::PackedLinear packed({view_of(weight), view_of(bias)}, packed_for);
    for (const std::int64_t rows : {1, 2, 31, 200, 1000}) {
      backend::Context context;
      backend::Linear linear(context, rows, packed);
      const Tensor src = normal_tensor({rows, 80}, 3);
      Tensor dst({rows, 96});
      linear.run(src.data(), packed, dst.data());
      const auto expected = reference::linear(widened(src), widened(weight), widened(bias));
      EXPECT_TRUE(matches(linear.kernel(), dst.view(), expected.values, bound(80, expected, expected)))
          << rows << " rows";
    }
  }
}

// Far outside of what networks feed them: no overflow on the way to a finite result, and the exact limits.
TEST(Activations, AtTheirEnds) {
  const Tensor weight = normal_tensor({1, 1}, 1, 0, 1);  // the number 1
  const backend::PackedLinear packed({view_of(weight), {}}, 64);
  Tensor src({64, 1});
  for (std::int64_t i = 0; i < 64; ++i) {
    const float magnitude = std::ldexp(1.0F, static_cast<int>(i / 2) - 12);  // 2^-12 to 2^19
    src.data()[i] = i % 2 == 0 ? magnitude : -magnitude;
  }
  for (const Activation activation : reference::every_activation()) {
    backend::Context context;
    backend::Linear linear(context, 64, packed, {.activation = activation});
    Tensor dst({64, 1});
    linear.run(src.data(), packed, dst.data());
    for (std::int64_t i = 0; i < 64; ++i) {
      const auto x = static_cast<double>(src.data()[i]);
      const double expected = reference::activate(activation, x);
      // oneDNN's and other libraries' eˣ − 1 is a difference from 1.
      const bool cancels = activation == Activation::elu || activation == Activation::selu;
      const double inner = cancels ? 1 : std::min(1.0, std::abs(x));
      EXPECT_NEAR(dst.data()[i], expected, 12 * 0x1p-24 * std::max(std::abs(expected), inner))
          << to_string(activation) << "(" << x << ")";
    }
  }
}

}  // namespace
}  // namespace vit::test
