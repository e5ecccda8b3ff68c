// Every loop in every instruction set that this processor has, against the formula in double precision.
#include "vit/backend/row_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/reference/layers.hpp"
#include "tests/support/bf16_value.hpp"
#include "tests/support/random.hpp"

namespace vit::backend {

std::ostream& operator<<(std::ostream& out, const RowKernelVariant& variant) {
  return out << variant.name;
}

}  // namespace vit::backend

namespace vit::test {
namespace {

using backend::bf16_t;
using backend::RowActivation;

constexpr double u = 0x1p-24;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// A row somewhere within a larger buffer, whose other elements nobody may touch.
template <class T>
class Row {
 public:
  Row(std::int64_t size, std::int64_t offset)
      : all_(static_cast<std::size_t>(offset + size) + kBehind, kUntouched),
        offset_(static_cast<std::size_t>(offset)),
        size_(static_cast<std::size_t>(size)) {}
  Row(const std::vector<T>& values, std::int64_t offset) : Row(std::ssize(values), offset) {
    std::copy(values.begin(), values.end(), data());
  }

  T* data() { return all_.data() + offset_; }
  std::vector<T> values() const {
    return {all_.begin() + static_cast<std::ptrdiff_t>(offset_),
            all_.begin() + static_cast<std::ptrdiff_t>(offset_ + size_)};
  }
  bool nothing_else_changed() const {
    for (std::size_t i = 0; i < all_.size(); ++i)
      if ((i < offset_ || i >= offset_ + size_) && all_[i] != kUntouched) return false;
    return true;
  }

 private:
  static constexpr T kUntouched = 77;
  static constexpr std::size_t kBehind = 64;

  std::vector<T> all_;
  std::size_t offset_;
  std::size_t size_;
};

std::vector<float> normal_row(std::int64_t size, std::uint32_t seed, double sigma = 1, double mean = 0) {
  const Tensor row = normal_tensor({size}, seed, sigma, mean);
  return {row.elements().begin(), row.elements().end()};
}

/// Shorter than a vector, whole vectors, four at a time, and every remainder.
std::vector<std::int64_t> sizes() {
  std::vector<std::int64_t> all;
  for (std::int64_t size = 1; size <= 70; ++size) all.push_back(size);
  for (const std::int64_t size : {127, 128, 129, 197, 768, 1000, 3072, 4099}) all.push_back(size);
  return all;
}

class RowKernels : public testing::TestWithParam<backend::RowKernelVariant> {
 protected:
  const backend::RowKernels& kernels = GetParam().kernels;
};

TEST_P(RowKernels, Exponentials) {
  for (const std::int64_t size : sizes()) {
    for (const double sigma : {0.1, 3.0, 30.0}) {
      const std::vector<float> x = normal_row(size, 1, sigma, 5);
      const double largest = *std::max_element(x.begin(), x.end());
      Row<float> from(x, size % 5);
      Row<float> to(size, size % 3 + 1);
      const float sum = kernels.exponentials(from.data(), size, to.data());
      const std::vector<float> p = to.values();
      double total = 0;
      for (std::size_t i = 0; i < p.size(); ++i) {
        const double below = largest - static_cast<double>(x[i]);
        const double expected = std::exp(-std::min(below, 87.0));
        // Two units of the last place, and the rounding of x − max.
        EXPECT_NEAR(p[i], expected, (4 + below) * u * expected) << size << ", " << i << ", " << -below;
        total += static_cast<double>(p[i]);
      }
      EXPECT_NEAR(sum, total, static_cast<double>(size) * u * total) << size;
      EXPECT_TRUE(to.nothing_else_changed()) << size;
      EXPECT_EQ(kernels.exponentials(from.data(), size, from.data()), sum);  // in place
      EXPECT_EQ(from.values(), p) << size;
      EXPECT_TRUE(from.nothing_else_changed()) << size;
    }
  }
}

TEST_P(RowKernels, WeightedExponentials) {
  for (const std::int64_t size : sizes()) {
    const std::vector<float> x = normal_row(size, 1, 3);
    std::vector<float> weights;
    for (std::int64_t i = 0; i < size; ++i) weights.push_back(static_cast<float>(1 + i % 7));
    const double largest = *std::max_element(x.begin(), x.end());
    Row<float> from(x, size % 5);
    Row<float> w(weights, size % 2);
    Row<float> to(size, size % 3 + 1);
    Row<bf16_t> halves(size, size % 4);
    const float sum = kernels.weighted_exponentials(from.data(), size, w.data(), to.data());
    const float sum_of_halves =
        kernels.weighted_exponentials_bf16(from.data(), size, w.data(), halves.data());
    const std::vector<float> p = to.values();
    double total = 0;
    double total_of_halves = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double below = largest - static_cast<double>(x[i]);
      const double expected = std::exp(-below + std::log(static_cast<double>(weights[i])));
      EXPECT_NEAR(p[i], expected, (6 + below) * u * expected) << size << ", " << i;
      EXPECT_NEAR(bf16_value(halves.data()[i]), expected, (0x1p-8 + 0x1p-13) * expected) << size << ", " << i;
      total += static_cast<double>(p[i]);
      total_of_halves += static_cast<double>(bf16_value(halves.data()[i]));
    }
    EXPECT_NEAR(sum, total, static_cast<double>(size) * u * total) << size;
    EXPECT_NEAR(sum_of_halves, total_of_halves, static_cast<double>(size) * u * total_of_halves) << size;
    EXPECT_TRUE(to.nothing_else_changed() && halves.nothing_else_changed()) << size;
    EXPECT_EQ(kernels.weighted_exponentials(from.data(), size, w.data(), from.data()), sum);  // in place
    EXPECT_EQ(from.values(), p) << size;
  }
}

TEST_P(RowKernels, BestMatch) {
  for (const std::int64_t size : sizes()) {
    for (const std::int64_t count : {1, 2, 9}) {
      const std::int64_t stride = size + 3;
      const std::vector<float> x = normal_row(size, 1);
      const std::vector<float> rows = normal_row(count * stride, 2);
      std::vector<double> products;
      double magnitude = 0;
      for (std::int64_t row = 0; row < count; ++row) {
        double product = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
          const double term = static_cast<double>(x[i]) *
                              static_cast<double>(rows[static_cast<std::size_t>(row * stride) + i]);
          product += term;
          magnitude = std::max(magnitude, std::abs(term));
        }
        products.push_back(product);
      }
      const auto best = std::max_element(products.begin(), products.end());
      const backend::RowMatch match = kernels.best_match(x.data(), size, {rows.data(), count, stride});
      EXPECT_EQ(match.row, best - products.begin()) << size;
      EXPECT_NEAR(match.product, *best, static_cast<double>(size) * u * magnitude) << size;
    }
  }
}

TEST_P(RowKernels, BestMatchOfTiesAndOfWhatIsNoNumber) {
  for (const std::int64_t size : {1, 15, 16, 64, 70}) {
    const auto n = static_cast<std::size_t>(size);
    const std::vector<float> x(n, 1);
    std::vector<float> rows(5 * n, 2);
    const auto match = [&] { return kernels.best_match(x.data(), size, {rows.data(), 5, size}); };
    EXPECT_EQ(match().row, 0);
    std::fill_n(rows.begin(), 2 * n, -1.0F);
    EXPECT_EQ(match().row, 2);
    rows[2 * n] = kNaN;
    EXPECT_EQ(match().row, 3);
    EXPECT_EQ(match().product, static_cast<float>(2 * size));
    std::fill(rows.begin(), rows.end(), kNaN);
    EXPECT_EQ(match().row, 0);
    EXPECT_EQ(match().product, -kInfinity);
  }
}

TEST_P(RowKernels, ExponentialsRounded) {
  for (const std::int64_t size : sizes()) {
    Row<float> from(normal_row(size, 1, 3), size % 5);
    Row<bf16_t> to(size, size % 3 + 1);
    Row<float> unrounded(size, 0);
    const float sum = kernels.exponentials_bf16(from.data(), size, to.data());
    kernels.exponentials(from.data(), size, unrounded.data());
    const std::vector<bf16_t> p = to.values();
    double total = 0;  // of what the product is going to read
    for (std::size_t i = 0; i < p.size(); ++i) {
      // Half a unit of bf16's last place, and the remainder of a shorter polynomial.
      const auto expected = static_cast<double>(unrounded.data()[i]);
      EXPECT_NEAR(bf16_value(p[i]), expected, (0x1p-8 + 0x1p-14) * expected) << size << ", " << i;
      total += static_cast<double>(bf16_value(p[i]));
    }
    EXPECT_NEAR(sum, total, static_cast<double>(size) * u * total) << size;
    EXPECT_TRUE(to.nothing_else_changed()) << size;
  }
}

TEST_P(RowKernels, ExponentialsOfWhatIsNoNumber) {
  for (const std::int64_t size : {1, 2, 15, 16, 17, 31, 64, 70, 197}) {
    for (std::int64_t at = 0; at < size; ++at) {
      for (const float bad : {kNaN, -kNaN, kInfinity}) {
        std::vector<float> x = normal_row(size, 1);
        x[static_cast<std::size_t>(at)] = bad;
        Row<float> row(x, 1);
        Row<bf16_t> halves(size, 1);
        EXPECT_TRUE(std::isnan(kernels.exponentials_bf16(row.data(), size, halves.data())));
        EXPECT_TRUE(std::isnan(bf16_value(halves.data()[at])));
        EXPECT_TRUE(std::isnan(kernels.exponentials(row.data(), size, row.data()))) << size << ", " << at;
        EXPECT_TRUE(std::isnan(row.data()[at])) << size << ", " << at;
      }
      if (size == 1) continue;
      std::vector<float> x(static_cast<std::size_t>(size), 2.0F);
      x[static_cast<std::size_t>(at)] = -kInfinity;
      Row<float> row(x, 1);
      EXPECT_EQ(kernels.exponentials(row.data(), size, row.data()), static_cast<float>(size - 1));
      EXPECT_LE(row.data()[at], 2e-38F);
    }
    Row<float> nothing(std::vector<float>(static_cast<std::size_t>(size), -kInfinity), 1);
    EXPECT_TRUE(std::isnan(kernels.exponentials(nothing.data(), size, nothing.data())));
  }
}

TEST_P(RowKernels, ExponentialsFarApartDoNotOverflow) {
  Row<float> row(std::vector<float>{-3e38F, 0, 3e38F, 1e30F, -87.5F, 88.5F}, 0);
  EXPECT_EQ(kernels.exponentials(row.data(), 6, row.data()), 1);
  EXPECT_EQ(row.data()[2], 1);
}

TEST_P(RowKernels, Scale) {
  for (const std::int64_t size : sizes()) {
    const std::vector<float> x = normal_row(size, 1);
    Row<float> from(x, size % 5);
    Row<float> to(size, size % 3 + 1);
    Row<bf16_t> halves(size, size % 3 + 1);
    kernels.scale(from.data(), size, -0.37F, to.data());
    kernels.scale_bf16(from.data(), size, -0.37F, halves.data());
    kernels.scale(from.data(), size, -0.37F, from.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(to.data()[i], x[i] * -0.37F) << size << ", " << i;
      EXPECT_EQ(halves.data()[i], rounded_to_bf16(x[i] * -0.37F)) << size << ", " << i;
    }
    EXPECT_EQ(from.values(), to.values());
    EXPECT_TRUE(from.nothing_else_changed() && to.nothing_else_changed() && halves.nothing_else_changed());
  }
}

// All upper halves of a float with the lower ones that decide: exact, the tie and its neighbours, the
// largest.
TEST_P(RowKernels, RoundingToBf16) {
  std::vector<float> x;
  for (std::uint32_t upper = 0; upper < 0x10000U; ++upper)
    for (const std::uint32_t lower : {0U, 1U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU})
      x.push_back(std::bit_cast<float>(upper << 16U | lower));
  Row<float> from(x, 0);
  Row<bf16_t> to(std::ssize(x), 1);
  kernels.scale_bf16(from.data(), std::ssize(x), 1, to.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float got = bf16_value(to.data()[i]);
    if (std::isnan(x[i])) {
      ASSERT_TRUE(std::isnan(got)) << i;
    } else if (std::abs(x[i]) < 0x1p-126F && got == 0) {  // the processor's instruction may flush them
      continue;
    } else {
      ASSERT_EQ(to.data()[i], rounded_to_bf16(x[i])) << x[i] << " became " << got;
    }
  }
}

TEST_P(RowKernels, QuantiseToHalfALevel) {
  for (const std::int64_t size : sizes()) {
    for (const double mean : {0.0, 0.7, 5.0, -5.0}) {
      std::vector<float> x = normal_row(size, 1, 1, mean);
      x[static_cast<std::size_t>(size) / 2] = 0;
      Row<float> from(x, size % 5);
      Row<std::uint8_t> to(size, size % 3 + 1);
      const RowScale read = kernels.quantise(from.data(), size, to.data());
      const double low = std::min(0.0F, *std::min_element(x.begin(), x.end()));
      const double high = std::max(0.0F, *std::max_element(x.begin(), x.end()));
      const double scale = static_cast<double>(read.scale);
      EXPECT_NEAR(scale, size == 1 ? 1 : (high - low) / 255, 2 * u * scale) << size;
      EXPECT_GE(read.zero, 0);
      EXPECT_LE(read.zero, 255);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double got = (to.data()[i] - read.zero) * scale;
        EXPECT_NEAR(got, static_cast<double>(x[i]), scale * (0.5 + 4 * 255 * u)) << size << ", " << i;
        if (x[i] != 0) continue;
        EXPECT_EQ(to.data()[i], read.zero) << size << ", " << i;
      }
      EXPECT_TRUE(to.nothing_else_changed());
    }
  }
}

TEST_P(RowKernels, QuantiseBf16AsF32) {
  for (const std::int64_t size : sizes()) {
    std::vector<bf16_t> halves;
    std::vector<float> x = normal_row(size, 1, 1, 0.3);
    for (float& value : x) {
      halves.push_back(rounded_to_bf16(value));
      value = bf16_value(halves.back());
    }
    Row<float> wide(x, 0);
    Row<bf16_t> narrow(halves, size % 3);
    Row<std::uint8_t> expected(size, 1);
    Row<std::uint8_t> got(size, size % 3);
    const RowScale a = kernels.quantise(wide.data(), size, expected.data());
    const RowScale b = kernels.quantise_bf16(narrow.data(), size, got.data());
    EXPECT_EQ(a.scale, b.scale);
    EXPECT_EQ(a.zero, b.zero);
    EXPECT_EQ(expected.values(), got.values()) << size;
    EXPECT_TRUE(got.nothing_else_changed());
  }
}

TEST_P(RowKernels, QuantiseAtTheEnds) {
  const auto levels = [&](const std::vector<float>& x) {
    Row<float> from(x, 0);
    Row<std::uint8_t> to(std::ssize(x), 0);
    const RowScale read = kernels.quantise(from.data(), std::ssize(x), to.data());
    return std::pair(read, to.values());
  };
  using Levels = std::vector<std::uint8_t>;
  for (const std::size_t copies : {std::size_t{1}, std::size_t{9}}) {  // shorter than a vector and longer
    const auto repeated = [&](const auto& pattern) {
      std::decay_t<decltype(pattern)> all;
      for (std::size_t i = 0; i < copies; ++i) all.insert(all.end(), pattern.begin(), pattern.end());
      return all;
    };
    const auto row = [&](const std::vector<float>& pattern) { return levels(repeated(pattern)); };

    const auto [of_zeros, zeros] = row({0, -0.0F, 0});
    EXPECT_EQ(of_zeros.scale, 1);
    EXPECT_EQ(of_zeros.zero, 0);
    EXPECT_EQ(zeros, repeated(Levels{0, 0, 0}));

    const auto [of_positive, positive] = row({255, 1, 128, 0.4F});
    EXPECT_EQ(of_positive.scale, 1);
    EXPECT_EQ(of_positive.zero, 0);
    EXPECT_EQ(positive, repeated(Levels{255, 1, 128, 0}));

    const auto [of_negative, negative] = row({-255, -1, -128, -0.4F});
    EXPECT_EQ(of_negative.zero, 255);
    EXPECT_EQ(negative, repeated(Levels{0, 254, 127, 255}));

    // Both ends half a level from a whole number of them: neither may leave the range.
    const auto [of_halves, halves] = row({127.5F, -127.5F, 0});
    EXPECT_EQ(of_halves.zero, 128);
    EXPECT_EQ(halves, repeated(Levels{255, 0, 128}));

    // So small that one over a level is beyond all floats.
    for (const float tiny : {1e-44F, 1e-38F, 1e-36F}) {
      const auto [of_tiny, some] = row({tiny, 0, -tiny});
      EXPECT_TRUE(std::isfinite(of_tiny.scale)) << tiny;
      EXPECT_GE(of_tiny.zero, 0) << tiny;
      EXPECT_LE(of_tiny.zero, 255) << tiny;
      for (const std::uint8_t level : some)
        EXPECT_LE(std::abs(static_cast<float>(level - of_tiny.zero) * of_tiny.scale), 2 * tiny) << tiny;
    }
  }
}

TEST_P(RowKernels, QuantiseMakesNoNumbersOfWhatIsNone) {
  for (const std::int64_t size : {1, 2, 15, 16, 17, 31, 64, 70, 197}) {
    for (std::int64_t at = 0; at < size; ++at) {
      for (const float bad : {kNaN, -kNaN, kInfinity, -kInfinity}) {
        std::vector<float> x = normal_row(size, 1);
        x[static_cast<std::size_t>(at)] = bad;
        Row<float> from(x, 1);
        Row<std::uint8_t> to(size, 1);
        const RowScale read = kernels.quantise(from.data(), size, to.data());
        EXPECT_TRUE(std::isnan(read.scale)) << bad << " at " << at << " of " << size;
        EXPECT_EQ(read.zero, 0);
      }
    }
  }
}

TEST_P(RowKernels, LayerNorm) {
  for (const std::int64_t size : sizes()) {
    for (const auto& [mean, sigma, epsilon] : {std::tuple(0.0, 1.0, 1e-6), std::tuple(10.0, 2.0, 1e-5),
                                               std::tuple(0.0, 1e-3, 1e-6), std::tuple(-3.0, 0.1, 1e-12)}) {
      const std::vector<float> x = normal_row(size, 1, sigma, mean);
      const std::vector<float> gamma = normal_row(size, 2, 0.3, 1);
      const std::vector<float> beta = normal_row(size, 3, 0.3);
      Row<float> from(x, size % 5);
      Row<float> factors(gamma, size % 3);
      Row<float> offsets(beta, size % 2);
      Row<float> to(size, size % 3 + 1);
      kernels.layer_norm(from.data(), size, factors.data(), offsets.data(), static_cast<float>(epsilon),
                         to.data());
      const auto wide = [&](const std::vector<float>& row) {
        return reference::Array({1, size}, {row.begin(), row.end()});
      };
      const auto expected = reference::layer_norm(wide(x), wide(gamma), wide(beta), epsilon).values;
      // A few u of its own. The mean, which 64 lanes sum, is off by √(size / 64) u of itself, and what that
      // makes of the result the deviation of this row says, which may be short.
      const double average = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(size);
      double squares = 0;
      for (const float value : x) squares += std::pow(static_cast<double>(value) - average, 2);
      const double deviation = std::sqrt(squares / static_cast<double>(size) + epsilon);
      const double chain = std::sqrt(static_cast<double>(size) / 64 + 6);
      const double bound = (8 + (2 + chain) * std::abs(average) / deviation) * u;
      for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_NEAR(to.data()[i], expected[i], bound * std::max(1.0, std::abs(expected[i])))
            << size << ", " << i << ", mean " << mean;
      }
      EXPECT_TRUE(to.nothing_else_changed());
      kernels.layer_norm(from.data(), size, factors.data(), offsets.data(), static_cast<float>(epsilon),
                         from.data());
      EXPECT_EQ(from.values(), to.values()) << size;
    }
  }
}

Activation activation_of(RowActivation activation) {
  switch (activation) {
    case RowActivation::none:
      return Activation::identity;
    case RowActivation::gelu:
      return Activation::gelu;
    case RowActivation::gelu_tanh:
      return Activation::gelu_tanh;
    case RowActivation::quick_gelu:
      return Activation::quick_gelu;
    case RowActivation::relu:
      return Activation::relu;
    case RowActivation::silu:
      return Activation::silu;
  }
  return Activation::identity;
}

constexpr RowActivation kRowActivations[] = {RowActivation::none,      RowActivation::gelu,
                                             RowActivation::gelu_tanh, RowActivation::quick_gelu,
                                             RowActivation::relu,      RowActivation::silu};

/// A row of sums and what it must become.
struct SumsCase {
  explicit SumsCase(std::int64_t size)
      : sums(normal_row(size, 1, 300, 40), size % 5),
        zero_sums(normal_row(size, 2, 3), size % 3),
        bias(normal_row(size, 3), size % 2),
        row{sums.data(), {0.01F, 93}, zero_sums.data(), bias.data(), size} {}

  double output(std::size_t i) {
    return (static_cast<double>(sums.data()[i]) - 93 * static_cast<double>(zero_sums.data()[i])) *
               static_cast<double>(0.01F) +
           static_cast<double>(bias.data()[i]);
  }
  /// Each of the four operations rounds by u of its result; slopes are 1.13 at most.
  double bound(std::size_t i) {
    return 1.13 * 4 * u *
           ((std::abs(static_cast<double>(sums.data()[i])) +
             93 * std::abs(static_cast<double>(zero_sums.data()[i]))) *
                0.01 +
            std::abs(static_cast<double>(bias.data()[i])));
  }

  Row<float> sums;
  Row<float> zero_sums;
  Row<float> bias;
  backend::QuantisedSums row;
};

TEST_P(RowKernels, Dequantise) {
  for (const std::int64_t size : sizes()) {
    for (const RowActivation activation : kRowActivations) {
      SumsCase c(size);
      Row<float> to(size, size % 3 + 1);
      Row<bf16_t> halves(size, size % 3 + 1);
      kernels.dequantise(c.row, activation, to.data());
      kernels.dequantise_bf16(c.row, activation, halves.data());
      for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
        const double x = c.output(i);
        const double expected = reference::activate(activation_of(activation), x);
        // erf is off by 1.5e-7 and the rest of an activation by a few u.
        const double bound = c.bound(i) + (8 * u + 0.75e-7) * std::abs(x);
        EXPECT_NEAR(to.data()[i], expected, bound)
            << to_string(activation_of(activation)) << "(" << x << "), " << size << ", " << i;
        EXPECT_EQ(halves.data()[i], rounded_to_bf16(to.data()[i])) << size << ", " << i;
      }
      EXPECT_TRUE(to.nothing_else_changed() && halves.nothing_else_changed());
      kernels.dequantise(c.row, activation, c.sums.data());  // over the sums
      EXPECT_EQ(c.sums.values(), to.values()) << size;
    }
  }
}

TEST_P(RowKernels, DequantiseAdd) {
  for (const std::int64_t size : sizes()) {
    SumsCase c(size);
    const std::vector<float> before = normal_row(size, 4);
    Row<float> y(before, size % 3 + 1);
    kernels.dequantise_add(c.row, y.data());
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double expected = static_cast<double>(before[i]) + c.output(i);
      EXPECT_NEAR(y.data()[i], expected, c.bound(i) + 2 * u * std::abs(expected)) << size << ", " << i;
    }
    EXPECT_TRUE(y.nothing_else_changed());
  }
}

// Far out, where a formula overflows that is not written with care.
TEST_P(RowKernels, ActivationsAtTheirEnds) {
  std::vector<float> x;
  for (int power = -20; power <= 19; ++power)
    for (const float sign : {1.0F, -1.0F}) x.push_back(sign * std::ldexp(1.37F, power));
  const std::vector<float> zeros(x.size(), 0.0F);
  for (const RowActivation activation : kRowActivations) {
    std::vector<float> y(x.size());
    kernels.dequantise({x.data(), {1, 0}, zeros.data(), zeros.data(), std::ssize(x)}, activation, y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto in = static_cast<double>(x[i]);
      const double expected = reference::activate(activation_of(activation), in);
      EXPECT_NEAR(y[i], expected,
                  (12 * u + 0.75e-7) * std::max(std::abs(expected), std::min(1.0, std::abs(in))))
          << to_string(activation_of(activation)) << "(" << in << ")";
    }
    std::vector<float> bad(20, kNaN);
    const std::vector<float> more(20, 0.0F);
    kernels.dequantise({bad.data(), {1, 0}, more.data(), more.data(), 20}, activation, bad.data());
    for (const float value : bad) EXPECT_TRUE(std::isnan(value)) << to_string(activation_of(activation));
  }
}

INSTANTIATE_TEST_SUITE_P(All, RowKernels, testing::ValuesIn(backend::all_row_kernels()),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(RowKernelsOfThisProcessor, AreTheBest) {
  const std::vector<backend::RowKernelVariant> all = backend::all_row_kernels();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(backend::row_kernels().exponentials, all.front().kernels.exponentials);
  EXPECT_STREQ(all.back().name, "portable");
}

}  // namespace
}  // namespace vit::test
