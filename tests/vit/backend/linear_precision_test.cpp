// Linear layers in reduced precision. Two expectations: the formula on operands that are rounded as the
// precision says, which the layer meets as closely as f32 arithmetic does, and the formula on what they were
// before, from which it is off by what rounding allows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/reference/layers.hpp"
#include "tests/support/compare.hpp"
#include "tests/vit/backend/backend_support.hpp"
#include "tests/vit/backend/typed_rows.hpp"
#include "vit/backend/linear.hpp"
#include "vit/backend/precision_support.hpp"

namespace vit::test {
namespace {

using reference::Array;

constexpr double u = 0x1p-24;
constexpr double kBf16 = 0x1p-8;  // of a number, what rounding it is off by at most

struct PrecisionCase {
  Precision precision;
  std::int64_t rows;
  std::int64_t in;
  std::int64_t out;
};

std::ostream& operator<<(std::ostream& out, const PrecisionCase& c) {
  return out << to_string(c.precision) << "_" << c.rows << "x" << c.in << "_to_" << c.out;
}

double largest(const Array& array) {
  double most = 0;
  for (const double value : array.values) most = std::max(most, std::abs(value));
  return most;
}

Array magnitudes(Array array) {
  for (double& value : array.values) value = std::abs(value);
  return array;
}

/// The weights that an int8 layer multiplies by, and their distances from the ones that it was given.
struct RoundedWeights {
  Array values;
  Array errors;
};

RoundedWeights round_weights(const Tensor& weight, Precision precision) {
  RoundedWeights rounded{widened(weight), widened(weight)};
  const std::int64_t in = weight.shape()[1];
  for (std::int64_t o = 0; o < weight.shape()[0]; ++o) {
    const float* const row = weight.data() + o * in;
    float most = 0;
    for (std::int64_t i = 0; i < in; ++i) most = std::max(most, std::abs(row[i]));
    const float scale = most / 127;
    for (std::int64_t i = 0; i < in; ++i) {
      double& value = rounded.values(o, i);
      value = precision == Precision::bf16 ? static_cast<double>(bf16_value(rounded_to_bf16(row[i])))
              : scale > 0                  ? std::nearbyint(row[i] / scale) * static_cast<double>(scale)
                                           : 0.0;
      rounded.errors(o, i) = value - static_cast<double>(row[i]);
    }
  }
  return rounded;
}

struct LayerTest {
  backend::Epilogue epilogue = {};
  backend::LinearTypes types = {};
  bool bias = true;
  bool scale = false;
};

class LinearPrecision : public testing::TestWithParam<PrecisionCase> {
 protected:
  void SetUp() override {
    if (!backend::has_precision(s.precision))
      GTEST_SKIP() << "this processor has no " << to_string(s.precision);
  }

  bool quantised() const { return s.precision == Precision::int8; }
  ValueType multiplied() const { return quantised() ? ValueType::u8 : ValueType::bf16; }

  void check(const LayerTest& test) const {
    SCOPED_TRACE("src " + std::to_string(static_cast<int>(test.types.src)) + ", dst " +
                 std::to_string(static_cast<int>(test.types.dst)));
    const std::vector<float> factors(scale.elements().begin(), scale.elements().end());
    const backend::PackedLinear packed(
        {view_of(weight), test.bias ? view_of(bias) : WeightView{}}, {s.rows, s.precision},
        test.scale ? std::span<const float>(factors) : std::span<const float>{});
    EXPECT_EQ(packed.precision(), s.precision);
    backend::Context context;
    backend::Linear linear(context, s.rows, packed, test.epilogue, test.types);

    const TypedRows given(src, s.in, test.types.src);
    const TypedRows operand(given.narrowed(), s.in, multiplied());
    const TypedRows dst(before, s.out, test.types.dst);
    const TypedRows factor(gate, s.out, quantised() ? ValueType::f32 : test.types.dst);
    if (test.epilogue.multiply) {
      linear.run_times(factor.values(), given.values(), packed, dst.values());
    } else {
      linear.run(given.values(), packed, dst.values());
    }
    EXPECT_EQ(linear.kernel().find("ref"), std::string::npos) << linear.kernel();

    // What was rounded, by the formula.
    const Tensor used = test.scale ? scaled() : weight.clone();
    RoundedWeights weights = round_weights(quantised() ? weight : used, s.precision);
    if (quantised() && test.scale) {  // by way of the scales of the rows: the integers stay the same
      for (std::int64_t o = 0; o < s.out; ++o) {
        const auto factor_of_row = static_cast<double>(scale.data()[o]);
        for (std::int64_t i = 0; i < s.in; ++i) {
          weights.values(o, i) *= factor_of_row;
          weights.errors(o, i) *= factor_of_row;
        }
      }
    }
    const Array x = widened(src);
    const Array rounded = operand.widened();
    const Array offsets =
        test.bias ? test.scale ? scale_channels(widened(bias), widened(scale)) : widened(bias) : Array();
    const auto finish = [&](Array sums) {
      if (test.epilogue.activation) sums = activate(*test.epilogue.activation, std::move(sums));
      for (std::size_t i = 0; test.epilogue.multiply && i < sums.values.size(); ++i)
        sums.values[i] *= factor.at(static_cast<std::int64_t>(i));
      if (test.epilogue.accumulate) sums = add(std::move(sums), widened(before));
      return sums;
    };
    const Array sums = reference::linear(rounded, weights.values, offsets);
    const Array expected = finish(sums);
    const double slope = test.epilogue.multiply ? largest(factor.widened()) : 1.8;  // selu's at 0

    // √K u of the sums and 12 u of the activation, as in f32. The sums of int8 are exact, but what is
    // subtracted for the zero of a row is as large as zero times the sum of the weights.
    double arithmetic = (2 + std::sqrt(static_cast<double>(s.in))) * u * largest(sums);
    if (quantised()) {
      const Array all = reference::linear(magnitudes(with_zeros(operand)), magnitudes(weights.values), {});
      arithmetic = 4 * u * (largest(all) + largest(sums));
    }
    arithmetic =
        slope * arithmetic + 12 * u * slope * std::max(1.0, largest(sums)) + 2 * u * largest(expected);
    double storing = 0;
    if (test.types.dst == ValueType::bf16) storing = kBf16 * largest(expected);
    if (test.types.dst == ValueType::u8)  // half a level of the row with the largest range
      for (std::int64_t row = 0; row < s.rows; ++row)
        storing = std::max(storing, 0.501 * static_cast<double>(dst.scale_of(row * s.out).scale));
    EXPECT_TRUE(matches(linear.kernel() + ", rounded operands", dst.narrowed().view(), expected.values,
                        {(arithmetic + storing) / largest(expected)}));

    // What was not rounded yet: every product is off by what its factors are.
    const Array exact = finish(reference::linear(x, widened(used), offsets));
    Array input_errors = x;
    for (std::size_t i = 0; i < x.values.size(); ++i) input_errors.values[i] -= rounded.values[i];
    const double off = largest(add(reference::linear(magnitudes(input_errors), magnitudes(widened(used)), {}),
                                   reference::linear(magnitudes(rounded), magnitudes(weights.errors), {})));
    EXPECT_TRUE(matches(linear.kernel() + ", exact operands", dst.narrowed().view(), exact.values,
                        {(arithmetic + storing + slope * off) / largest(exact)}));
  }

  /// The levels of u8 as they are multiplied, without their zero being taken off.
  static Array with_zeros(const TypedRows& rows) {
    Array all = rows.widened();
    for (std::size_t i = 0; i < all.values.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const RowScale read = rows.scale_of(at);
      all.values[i] = (rows.level(at) + read.zero) * static_cast<double>(read.scale);
    }
    return all;
  }

  Tensor scaled() const {
    Tensor all = weight.clone();
    for (std::int64_t i = 0; i < all.size(); ++i) all.data()[i] *= scale.data()[i / s.in];
    return all;
  }

  const PrecisionCase s = GetParam();
  const Tensor src = normal_tensor({s.rows, s.in}, 1, 1, 0.2);
  const Tensor weight = normal_tensor({s.out, s.in}, 2, 2 / std::sqrt(static_cast<double>(s.in)));
  const Tensor bias = normal_tensor({s.out}, 3);
  const Tensor scale = normal_tensor({s.out}, 4, 0.3, 0.5);
  const Tensor before = normal_tensor({s.rows, s.out}, 5);
  const Tensor gate = normal_tensor({s.rows, s.out}, 6);
};

TEST_P(LinearPrecision, FromEveryTypeToEveryType) {
  std::vector<ValueType> sources{ValueType::f32, ValueType::bf16};
  std::vector<ValueType> results{ValueType::f32, ValueType::bf16};
  if (quantised()) {
    sources.push_back(ValueType::u8);
    results.push_back(ValueType::u8);
  }
  for (const ValueType from : sources)
    for (const ValueType to : results) check({.types = {from, to}});
}

TEST_P(LinearPrecision, WithoutABiasAndScaled) {
  check({.bias = false});
  check({.bias = false, .scale = true});
  check({.scale = true});
}

TEST_P(LinearPrecision, AddedToWhatIsThere) {
  check({.epilogue = {.activation = {}, .accumulate = true}, .types = {multiplied(), ValueType::f32}});
  check({.epilogue = {.activation = {}, .accumulate = true}, .types = {ValueType::f32, ValueType::f32}});
}

TEST_P(LinearPrecision, TimesAFactor) {
  const backend::Epilogue times{.activation = {}, .multiply = true};
  check({.epilogue = times});
  check({.epilogue = times, .types = {multiplied(), multiplied()}});
}

TEST_P(LinearPrecision, EveryActivation) {
  if (s.in * s.out > 10000) GTEST_SKIP() << "the small ones show it";
  for (const Activation activation : reference::every_activation()) {
    SCOPED_TRACE(to_string(activation));
    if (activation == Activation::relu2) continue;  // its slope has no bound
    check({.epilogue = {.activation = activation}, .types = {multiplied(), ValueType::f32}});
    if (quantised() || backend::is_fused(activation))
      check({.epilogue = {.activation = activation}, .types = {multiplied(), multiplied()}});
  }
}

std::vector<PrecisionCase> cases() {
  std::vector<PrecisionCase> all;
  for (const Precision precision : {Precision::bf16, Precision::int8}) {
    for (const auto& [rows, in, out] :
         {std::tuple(1, 1, 2), std::tuple(1, 13, 7), std::tuple(2, 47, 1), std::tuple(3, 1, 5),
          std::tuple(17, 16, 16), std::tuple(5, 31, 64), std::tuple(63, 65, 129), std::tuple(197, 192, 576),
          std::tuple(1, 768, 1000), std::tuple(33, 1021, 3)})
      all.push_back({precision, rows, in, out});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, LinearPrecision, testing::ValuesIn(cases()), testing::PrintToStringParamName());

// The layout is chosen for the rows that the packer was told; other numbers of rows must work with it.
TEST(PackedLinearPrecision, ServesOtherNumbersOfRows) {
  const Tensor weight = normal_tensor({96, 80}, 1, 0.2);
  const Tensor bias = normal_tensor({96}, 2);
  for (const Precision precision : {Precision::bf16, Precision::int8}) {
    if (!backend::has_precision(precision)) continue;
    for (const std::int64_t packed_for : {1, 197}) {
      const backend::PackedLinear packed({view_of(weight), view_of(bias)}, {packed_for, precision});
      for (const std::int64_t rows : {1, 2, 31, 200, 1000}) {
        backend::Context context;
        backend::Linear linear(context, rows, packed);
        const Tensor src = normal_tensor({rows, 80}, 3);
        Tensor dst({rows, 96});
        linear.run(src.data(), packed, dst.data());
        const auto expected = reference::linear(widened(src), widened(weight), widened(bias));
        EXPECT_TRUE(matches(linear.kernel(), dst.view(), expected.values, {0.02})) << rows << " rows";
      }
    }
  }
}

// A token's row is rounded with its own scale: whatever stands beside it, its result is the same to the bit.
TEST(LinearInt8, RowsDoNotDependOnTheirNeighbours) {
  if (!backend::has_precision(Precision::int8)) GTEST_SKIP() << "this processor has no int8";
  const Tensor weight = normal_tensor({48, 80}, 1, 0.2);
  const Tensor bias = normal_tensor({48}, 2);
  const backend::PackedLinear packed({view_of(weight), view_of(bias)}, {9, Precision::int8});
  Tensor src = normal_tensor({9, 80}, 3);
  const auto run = [&] {
    backend::Context context;
    backend::Linear linear(context, 9, packed);
    Tensor dst({9, 48});
    linear.run(src.data(), packed, dst.data());
    return std::vector<float>(dst.data() + 4 * 48, dst.data() + 5 * 48);
  };
  const std::vector<float> before = run();
  for (std::int64_t i = 0; i < src.size(); ++i)
    if (i / 80 != 4) src.data()[i] *= 1e6F;
  EXPECT_EQ(run(), before);
}

// Rows without anything in them, and outputs without weights, have no range to divide.
TEST(LinearInt8, OfZerosIsTheBias) {
  if (!backend::has_precision(Precision::int8)) GTEST_SKIP() << "this processor has no int8";
  const Tensor bias = normal_tensor({5}, 2);
  Tensor nothing({5, 7});
  std::fill_n(nothing.data(), nothing.size(), 0.0F);
  const Tensor some = normal_tensor({5, 7}, 1);
  using Operands = std::pair<const Tensor*, const Tensor*>;
  for (const auto& [src, weight] : {Operands(&nothing, &some), Operands(&some, &nothing)}) {
    const backend::PackedLinear packed({view_of(*weight), view_of(bias)}, {5, Precision::int8});
    backend::Context context;
    backend::Linear linear(context, 5, packed);
    Tensor dst({5, 5});
    linear.run(src->data(), packed, dst.data());
    for (std::int64_t i = 0; i < dst.size(); ++i) EXPECT_EQ(dst.data()[i], bias.data()[i % 5]) << i;
  }
}

}  // namespace
}  // namespace vit::test
