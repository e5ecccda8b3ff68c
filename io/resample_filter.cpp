#include "io/resample_filter.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "vit/error.hpp"

namespace vit::io {
namespace {

double sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double lanczos3(double x) {
  return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0;
}

double triangle(double x) {
  return std::max(0.0, 1.0 - std::abs(x));
}

/// Keys (1981), doi:10.1109/TASSP.1981.1163711, with a = -0.5.
double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
  return 0.0;
}

double rectangle(double x) {
  return -0.5 < x && x <= 0.5 ? 1.0 : 0.0;
}

/// The constants are single precision, as Pillow's, and their sum is not 1: both show in the last bit of
/// weights.
double hamming(double x) {
  x = std::abs(x);
  if (x == 0.0) return 1.0;
  return x < 1.0 ? sinc(x) * (0.54F + 0.46F * std::cos(std::numbers::pi * x)) : 0.0;
}

}  // namespace

Filter filter_of(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::lanczos:
      return {lanczos3, 3.0};
    case Interpolation::bilinear:
      return {triangle, 1.0};
    case Interpolation::bicubic:
      return {cubic, 2.0};
    case Interpolation::box:
      return {rectangle, 0.5};
    case Interpolation::hamming:
      return {hamming, 1.0};
    case Interpolation::nearest:
      break;
  }
  throw Error(ErrorCode::internal, "resample: a filter without weights");
}

FilterWeights::FilterWeights(const Axis& axis, const Filter& filter)
    : axis_(axis),
      filter_(filter),
      scale_(static_cast<double>(axis.source) / static_cast<double>(axis.target)),
      stretch_(std::max(scale_, 1.0)),
      support_(filter.support * stretch_) {}

std::int64_t FilterWeights::most() const {
  return std::min(static_cast<std::int64_t>(std::ceil(support_)) * 2 + 1, axis_.source);
}

void FilterWeights::compute(std::int64_t i, Output& output) const {
  const double inverse = 1.0 / stretch_;
  const double center = (static_cast<double>(axis_.begin + i) + 0.5) * scale_;
  output.first = std::max<std::int64_t>(static_cast<std::int64_t>(center - support_ + 0.5), 0);
  const auto end = std::min(static_cast<std::int64_t>(center + support_ + 0.5), axis_.source);
  output.weight.clear();
  double sum = 0.0;
  for (std::int64_t at = output.first; at < end; ++at) {
    output.weight.push_back(filter_.value((static_cast<double>(at) - center + 0.5) * inverse));
    sum += output.weight.back();
  }
  if (sum == 0.0) return;
  for (double& weight : output.weight) weight /= sum;
}

}  // namespace vit::io
