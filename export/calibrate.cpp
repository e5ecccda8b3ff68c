#include "export/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "export/onnx_run.hpp"
#include "vit/error.hpp"

namespace vit::exporter {
namespace {

constexpr std::size_t kBins = 4096;
constexpr double kSteps = 127;  // of the positive half of an 8-bit integer

/// How often each magnitude occurs. The range doubles when a larger value comes: neighbouring bins are
/// merged.
class Histogram {
 public:
  void add(const ConstTensorView& values) {
    float largest = 0;
    for (std::int64_t i = 0; i < values.size(); ++i) {
      largest = std::max(largest, std::fabs(values.data[i]));
      sum_ += static_cast<double>(values.data[i]);  // NaN stays
    }
    grow(static_cast<double>(largest));
    if (range_ == 0) return;
    const auto scale = static_cast<float>(static_cast<double>(kBins) / range_);
    for (std::int64_t i = 0; i < values.size(); ++i) {
      const auto bin = static_cast<std::size_t>(std::fabs(values.data[i]) * scale);
      ++counts_[std::min(bin, kBins - 1)];
    }
  }

  bool finite() const { return std::isfinite(sum_) && std::isfinite(range_); }

  /// The range with the least squared error, among those that end at a bin.
  double best_range() const {
    double best = range_;
    double least = error_of(kBins);
    // Below a tenth everything is clipped; no network needs that.
    for (std::size_t bins = kBins / 10; bins < kBins; bins += 8) {
      const double error = error_of(bins);
      if (error < least) {
        least = error;
        best = range_ * static_cast<double>(bins) / static_cast<double>(kBins);
      }
    }
    return best;
  }

 private:
  void grow(double largest) {
    if (!std::isfinite(largest)) {
      range_ = largest;
      return;
    }
    if (range_ == 0) range_ = largest;
    while (range_ < largest) {
      range_ *= 2;
      for (std::size_t i = 0; i < kBins; ++i)
        counts_[i] = 2 * i + 1 < kBins ? counts_[2 * i] + counts_[2 * i + 1] : 0;
    }
  }

  /// Of rounding (a step's width squared / 12) and clipping, with the range ending behind `bins` bins.
  double error_of(std::size_t bins) const {
    const double width = range_ / static_cast<double>(kBins);
    const double end = width * static_cast<double>(bins);
    const double step = end / kSteps;
    double error = 0;
    for (std::size_t i = 0; i < kBins; ++i) {
      const double beyond = i < bins ? 0 : (static_cast<double>(i) + 0.5) * width - end;
      error += static_cast<double>(counts_[i]) * (i < bins ? step * step / 12 : beyond * beyond);
    }
    return error;
  }

  double range_ = 0;
  double sum_ = 0;
  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(kBins);
};

InputValue as_input(const Graph& graph, const Tensor& picture) {
  const ValueInfo& input = graph.inputs.front();
  Shape shape{1};
  for (std::size_t i = 1; i < input.shape.size(); ++i)
    shape.push_back(std::get<std::int64_t>(input.shape[i]));
  if (picture.shape() != Shape(shape.begin() + 1, shape.end())) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a picture for calibration has shape {}, expected {}", to_string(picture.shape()),
                            to_string(std::span(shape).subspan(1))));
  }
  return {reinterpret_cast<const std::byte*>(picture.data()), ElementType::f32, shape};
}

}  // namespace

ActivationRanges calibrate(const Graph& graph, const NextPicture& next, int threads) {
  const std::vector<std::string> names = quantized_values(graph);
  const std::set<std::string> wanted(names.begin(), names.end());
  std::map<std::string, Histogram> histograms;
  const GraphRunner runner(graph, threads);
  std::int64_t pictures = 0;
  while (const std::optional<Tensor> picture = next()) {
    ++pictures;
    runner.run({{graph.inputs.front().name, as_input(graph, *picture)}},
               [&](const Node&, const std::string& name, const ConstTensorView& value) {
                 if (wanted.contains(name)) histograms[name].add(value);
               });
  }
  if (pictures == 0) throw Error(ErrorCode::invalid_argument, "calibration needs at least one picture");
  ActivationRanges ranges;
  for (const auto& [name, histogram] : histograms) {
    if (!histogram.finite())
      throw Error(ErrorCode::not_finite, fmt::format("the network gives NaN or infinity for {}", name));
    ranges[name] = static_cast<float>(histogram.best_range());
  }
  return ranges;
}

}  // namespace vit::exporter
