// What came out of an evaluation, as text for people and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/evaluation_metrics.hpp"
#include "io/label_mapping.hpp"
#include "io/labels.hpp"
#include "vit/error.hpp"
#include "vit/predict.hpp"

namespace vit::apps {

/// A picture that could not be classified.
struct FailedPicture {
  std::string input;
  Error error;
};

/// All that an evaluation found.
struct Evaluation {
  std::string source;  ///< the data set, as given
  std::string model;
  ScoreFunction score_function = ScoreFunction::softmax;
  io::Labels labels;
  std::vector<io::MappedClass> mapping;
  io::EvaluationResult result;
  std::vector<FailedPicture> failures;
};

/// Whether the scores are probabilities of which one label is right, so that they can be calibrated.
inline bool has_calibration(const Evaluation& evaluation) {
  return evaluation.score_function == ScoreFunction::softmax && evaluation.result.pictures > 0;
}

/// Two classes that are taken for each other.
struct Confusion {
  std::int64_t truth = 0;
  std::int64_t predicted = 0;
  std::int64_t count = 0;
};

/// The most frequent ones, up to `most`; equal ones by index.
std::vector<Confusion> most_confused(const io::EvaluationResult& result, std::size_t most);

/// "76.80 %"
std::string percent(double share);
/// "76.80 % (95 % interval 74.08 to 79.32 %)"
std::string percent_with_interval(std::int64_t right, std::int64_t count);

std::string evaluation_text(const Evaluation& evaluation);
/// One object, and a line break.
std::string evaluation_json(const Evaluation& evaluation);

/// The confusion matrix of the classes that occur: a line for each truth, a column for each prediction.
std::string confusion_csv(const Evaluation& evaluation);

}  // namespace vit::apps
