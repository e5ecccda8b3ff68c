#include "tests/support/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace vit::test {
namespace {

// "[0, 3, 17]": where an element of a row-major tensor stands.
std::string index_of(std::size_t element, std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> index(shape.size());
  auto rest = static_cast<std::int64_t>(element);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = rest % shape[axis];
    rest /= shape[axis];
  }
  return to_string(index);
}

template <typename T>
bool is_constant(std::span<const T> values) {
  return std::all_of(values.begin(), values.end(), [&](T v) { return v == values.front(); });
}

// What is wrong with the numbers before any two of them are compared; empty for nothing.
std::string find_emptiness(std::span<const float> got, std::span<const double> want,
                           std::span<const std::int64_t> shape) {
  if (want.empty()) return "there is nothing to compare";
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (!std::isfinite(want[i])) return fmt::format("{} = {} is expected", index_of(i, shape), want[i]);
    if (!std::isfinite(got[i]))
      return fmt::format("{} = {}, expected {}", index_of(i, shape), got[i], want[i]);
  }
  if (want.size() > 1 && is_constant(got) && !is_constant(want)) {
    return fmt::format("every element is {}, the expected ones differ", got.front());
  }
  return {};
}

}  // namespace

Comparison compare(std::string_view name, std::span<const float> got, std::span<const double> want,
                   std::span<const std::int64_t> shape, Bound bound) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  if (got.size() != count || want.size() != count) {
    return {0, fmt::format("{}: {} elements, {} expected, shape {}", name, got.size(), want.size(),
                           to_string(shape))};
  }
  if (const std::string problem = find_emptiness(got, want, shape); !problem.empty()) {
    return {0, fmt::format("{} {}: {}", name, to_string(shape), problem)};
  }

  double largest = 0, difference = 0;
  std::size_t worst = 0;
  for (std::size_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::abs(want[i]));
    if (const double d = std::abs(static_cast<double>(got[i]) - want[i]); d > difference) {
      difference = d;
      worst = i;
    }
  }
  Comparison result;
  // Where zeros are expected there is no scale: anything but zeros is infinitely wrong.
  result.error = difference == 0 ? 0 : difference / largest;
  const std::string where = fmt::format("{} {}: {} = {:.9g}, expected {:.9g}", name, to_string(shape),
                                        index_of(worst, shape), got[worst], want[worst]);
  if (!(result.error <= bound.upper)) {
    result.problem =
        fmt::format("{}; error {:.3g} of the largest magnitude {:.4g}, at most {:.3g} is allowed", where,
                    result.error, largest, bound.upper);
  } else if (result.error < bound.lower) {
    result.problem = fmt::format("{}; error {:.3g} is below {:.3g}: tighten the bound of {:.3g}", where,
                                 result.error, bound.lower, bound.upper);
  }
  return result;
}

Comparison compare(std::string_view name, const ConstTensorView& got, const ConstTensorView& want,
                   Bound bound) {
  if (got.shape != want.shape) {
    return {0, fmt::format("{}: shape {}, expected {}", name, to_string(got.shape), to_string(want.shape))};
  }
  const auto count = static_cast<std::size_t>(want.size());
  const std::vector<double> widened(want.data, want.data + count);
  return compare(name, std::span(got.data, count), widened, want.shape, bound);
}

testing::AssertionResult matches(std::string_view name, const ConstTensorView& got,
                                 const ConstTensorView& want, Bound bound) {
  const Comparison result = compare(name, got, want, bound);
  return result ? testing::AssertionSuccess() : testing::AssertionFailure() << result.problem;
}

testing::AssertionResult matches(std::string_view name, const ConstTensorView& got,
                                 std::span<const double> want, Bound bound) {
  const std::span elements(got.data, static_cast<std::size_t>(got.size()));
  const Comparison result = compare(name, elements, want, got.shape, bound);
  return result ? testing::AssertionSuccess() : testing::AssertionFailure() << result.problem;
}

}  // namespace vit::test
