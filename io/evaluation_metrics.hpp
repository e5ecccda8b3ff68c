// Predictions and the truth -> how good a classifier is. Pure arithmetic, in double.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "vit/predict.hpp"

namespace vit::io {

struct Interval {
  double low = 0;
  double high = 0;
};

/// Of a share of `right` in `count`, with 95 % confidence (Wilson, J. Am. Stat. Assoc. 22, 1927). From 0 to 1
/// where `count` is 0.
Interval wilson_interval(std::int64_t right, std::int64_t count);

/// One class, as scikit-learn's precision_recall_fscore_support has it; a quotient by 0 is 0.
struct ClassMetrics {
  std::int64_t index = 0;
  std::int64_t support = 0;    ///< pictures of this class
  std::int64_t predicted = 0;  ///< pictures taken for this class
  std::int64_t right = 0;      ///< both
  double precision = 0;
  double recall = 0;
  double f1 = 0;
};

struct AverageMetrics {
  double precision = 0;
  double recall = 0;
  double f1 = 0;
};

/// Pictures whose best label has a score in (i/15, (i+1)/15].
struct CalibrationBin {
  std::int64_t count = 0;
  double confidence = 0;  ///< mean of these scores
  double accuracy = 0;    ///< share that is right
};

inline constexpr std::size_t kCalibrationBins = 15;

/// Whether scores mean what they say. For scores that are probabilities, of which one label is right.
struct Calibration {
  std::array<CalibrationBin, kCalibrationBins> bins;
  double ece = 0;    ///< expected calibration error (Guo et al., arXiv:1706.04599, eq. 3)
  double mce = 0;    ///< the largest one of a bin (eq. 5)
  double nll = 0;    ///< mean of -ln p of the right label; p is at least 2^-52, as in scikit-learn's log_loss
  double brier = 0;  ///< mean of the squared distance of all scores to one-hot (Brier 1950): 0 to 2
};

struct EvaluationResult {
  std::int64_t pictures = 0;
  std::int64_t right = 0;             ///< the best label is right
  std::int64_t k = 0;                 ///< min(5, K)
  std::int64_t right_in_k = 0;        ///< the right label is among the k best
  std::vector<ClassMetrics> classes;  ///< those that occur, as truth or as prediction, by index
  AverageMetrics macro;               ///< of all `classes`
  AverageMetrics weighted;            ///< by their support
  Calibration calibration;
  /// Pictures by (truth, prediction), where there are any.
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> confusion;

  /// Pictures of one class that were taken for another.
  std::int64_t confused(std::int64_t truth, std::int64_t predicted) const {
    const auto found = confusion.find({truth, predicted});
    return found == confusion.end() ? 0 : found->second;
  }
};

/// Counts picture by picture; memory grows with the pairs of classes that are confused only.
class EvaluationMetrics {
 public:
  /// `classes`: K. Throws Error(invalid_argument) if it is less than 2.
  explicit EvaluationMetrics(std::int64_t classes);

  /// `scores`: of all K labels, best first. Throws Error(internal) unless they are K, with `truth` among
  /// them.
  void add(std::int64_t truth, std::span<const Prediction> scores);

  EvaluationResult result() const;

 private:
  void add_to_calibration(bool right, float truth_score, std::span<const Prediction> scores);

  std::int64_t classes_;
  EvaluationResult counts_;  // sums where the result has means
};

/// A picture whose best label is wrong.
struct Mistake {
  std::size_t picture = 0;  ///< its number
  std::int64_t truth = 0;
  std::int64_t predicted = 0;
  float score = 0;  ///< of the wrong label
};

/// The few mistakes with the highest scores.
class WorstMistakes {
 public:
  explicit WorstMistakes(std::size_t most) : most_(most) {}

  void add(const Mistake& mistake);
  /// Worst first; of equal ones the first picture.
  std::vector<Mistake> sorted() const;

 private:
  std::size_t most_;
  std::vector<Mistake> heap_;  // the best of them on top
};

}  // namespace vit::io
