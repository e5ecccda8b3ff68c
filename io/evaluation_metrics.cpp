#include "io/evaluation_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr std::int64_t kTopK = 5;

double quotient(double a, double b) {
  return b == 0 ? 0 : a / b;
}

std::size_t bin_of(float confidence) {
  const double upper = std::ceil(static_cast<double>(confidence) * kCalibrationBins);
  return static_cast<std::size_t>(std::clamp(upper - 1, 0.0, static_cast<double>(kCalibrationBins - 1)));
}

/// From the confusion matrix.
std::vector<ClassMetrics> class_metrics(const EvaluationResult& result) {
  std::map<std::int64_t, ClassMetrics> classes;
  for (const auto& [pair, count] : result.confusion) {
    classes[pair.first].support += count;
    classes[pair.second].predicted += count;
    if (pair.first == pair.second) classes[pair.first].right += count;
  }
  std::vector<ClassMetrics> list;
  for (auto& [index, c] : classes) {
    c.index = index;
    const auto right = static_cast<double>(c.right);
    c.precision = quotient(right, static_cast<double>(c.predicted));
    c.recall = quotient(right, static_cast<double>(c.support));
    c.f1 = quotient(2 * right, static_cast<double>(c.predicted + c.support));
    list.push_back(c);
  }
  return list;
}

template <class Weight>
AverageMetrics average(const std::vector<ClassMetrics>& classes, const Weight& weight) {
  AverageMetrics sum;
  double weights = 0;
  for (const ClassMetrics& c : classes) {
    const double w = weight(c);
    weights += w;
    sum.precision += w * c.precision;
    sum.recall += w * c.recall;
    sum.f1 += w * c.f1;
  }
  return {quotient(sum.precision, weights), quotient(sum.recall, weights), quotient(sum.f1, weights)};
}

/// Sums -> means.
void finish(Calibration& calibration, std::int64_t pictures) {
  const auto all = static_cast<double>(pictures);
  for (CalibrationBin& bin : calibration.bins) {
    const auto count = static_cast<double>(bin.count);
    bin.confidence = quotient(bin.confidence, count);
    bin.accuracy = quotient(bin.accuracy, count);
    const double gap = std::abs(bin.accuracy - bin.confidence);
    calibration.ece += quotient(count, all) * gap;
    calibration.mce = std::max(calibration.mce, gap);
  }
  calibration.nll = quotient(calibration.nll, all);
  calibration.brier = quotient(calibration.brier, all);
}

bool is_worse(const Mistake& a, const Mistake& b) {
  return a.score != b.score ? a.score > b.score : a.picture < b.picture;
}

}  // namespace

Interval wilson_interval(std::int64_t right, std::int64_t count) {
  if (count == 0) return {0, 1};
  constexpr double kZ = 1.959963984540054;  // the normal distribution's 97.5 % quantile
  const auto n = static_cast<double>(count);
  const double p = static_cast<double>(right) / n;
  const double centre = p + kZ * kZ / (2 * n);
  const double half = kZ * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
  const double scale = 1 + kZ * kZ / n;
  // Both ends are exact where rounding would leave them an ulp short.
  return {right == 0 ? 0 : (centre - half) / scale, right == count ? 1 : (centre + half) / scale};
}

EvaluationMetrics::EvaluationMetrics(std::int64_t classes) : classes_(classes) {
  if (classes < 2) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("evaluation: expected a model of two labels or more, found {}", classes));
  }
  counts_.k = std::min(kTopK, classes);
}

void EvaluationMetrics::add(std::int64_t truth, std::span<const Prediction> scores) {
  const auto found =
      std::find_if(scores.begin(), scores.end(), [&](const Prediction& p) { return p.index == truth; });
  if (std::ssize(scores) != classes_ || found == scores.end()) {
    throw Error(ErrorCode::internal, fmt::format("evaluation: expected scores of {} labels, {} among them, "
                                                 "found {}",
                                                 classes_, truth, scores.size()));
  }
  const std::int64_t predicted = scores.front().index;
  ++counts_.pictures;
  counts_.right += predicted == truth ? 1 : 0;
  counts_.right_in_k += found - scores.begin() < counts_.k ? 1 : 0;
  ++counts_.confusion[{truth, predicted}];
  add_to_calibration(predicted == truth, found->score, scores);
}

void EvaluationMetrics::add_to_calibration(bool right, float truth_score,
                                           std::span<const Prediction> scores) {
  Calibration& sums = counts_.calibration;
  CalibrationBin& bin = sums.bins[bin_of(scores.front().score)];
  ++bin.count;
  bin.confidence += static_cast<double>(scores.front().score);
  bin.accuracy += right ? 1 : 0;
  const auto p = static_cast<double>(truth_score);
  sums.nll -= std::log(std::max(p, std::numeric_limits<double>::epsilon()));
  // sum of (p_k - y_k)^2 = sum of p_k^2, and (1 - p)^2 - p^2 for the right label
  double squares = 1 - 2 * p;
  for (const Prediction& score : scores)
    squares += static_cast<double>(score.score) * static_cast<double>(score.score);
  sums.brier += squares;
}

EvaluationResult EvaluationMetrics::result() const {
  EvaluationResult result = counts_;
  result.classes = class_metrics(result);
  result.macro = average(result.classes, [](const ClassMetrics&) { return 1.0; });
  result.weighted =
      average(result.classes, [](const ClassMetrics& c) { return static_cast<double>(c.support); });
  finish(result.calibration, result.pictures);
  return result;
}

void WorstMistakes::add(const Mistake& mistake) {
  heap_.push_back(mistake);
  std::push_heap(heap_.begin(), heap_.end(), is_worse);
  if (heap_.size() <= most_) return;
  std::pop_heap(heap_.begin(), heap_.end(), is_worse);
  heap_.pop_back();
}

std::vector<Mistake> WorstMistakes::sorted() const {
  std::vector<Mistake> list = heap_;
  std::sort(list.begin(), list.end(), is_worse);
  return list;
}

}  // namespace vit::io
