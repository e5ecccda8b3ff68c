#include "vit/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "vit/error.hpp"

namespace vit {
namespace {

std::vector<float> score(std::span<const float> logits, ScoreFunction function) {
  switch (function) {
    case ScoreFunction::softmax:
      return softmax(logits);
    case ScoreFunction::sigmoid:
      return sigmoid(logits);
    case ScoreFunction::none:
      break;
  }
  return {logits.begin(), logits.end()};
}

}  // namespace

std::string_view to_string(ScoreFunction function) {
  switch (function) {
    case ScoreFunction::softmax:
      return "softmax";
    case ScoreFunction::sigmoid:
      return "sigmoid";
    case ScoreFunction::none:
      return "none";
  }
  return "?";
}

std::vector<float> softmax(std::span<const float> logits) {
  std::vector<float> scores(logits.size());
  if (logits.empty()) return scores;
  const double top = *std::max_element(logits.begin(), logits.end());
  std::vector<double> exponentials(logits.size());
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    exponentials[i] = std::exp(static_cast<double>(logits[i]) - top);
    sum += exponentials[i];
  }
  for (std::size_t i = 0; i < logits.size(); ++i) scores[i] = static_cast<float>(exponentials[i] / sum);
  return scores;
}

std::vector<float> sigmoid(std::span<const float> logits) {
  std::vector<float> scores(logits.size());
  std::transform(logits.begin(), logits.end(), scores.begin(),
                 [](float x) { return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(x)))); });
  return scores;
}

std::vector<Prediction> predict(std::span<const float> logits, ScoreFunction function, std::int64_t k) {
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!std::isfinite(logits[i])) {
      throw Error(ErrorCode::not_finite,
                  fmt::format("logit {} is {}, expected a finite number: the weights or the "
                              "picture's values are broken",
                              i, logits[i]));
    }
  }
  const std::vector<float> scores = score(logits, function);
  std::vector<std::int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto count =
      std::min<std::size_t>(scores.size(), static_cast<std::size_t>(std::max<std::int64_t>(k, 0)));
  // By logit, not by score: a confident softmax rounds many scores to the same 0.
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::int64_t a, std::int64_t b) {
                      const float x = logits[static_cast<std::size_t>(a)];
                      const float y = logits[static_cast<std::size_t>(b)];
                      return x != y ? x > y : a < b;
                    });
  std::vector<Prediction> best(count);
  for (std::size_t i = 0; i < count; ++i) best[i] = {order[i], scores[static_cast<std::size_t>(order[i])]};
  return best;
}

}  // namespace vit
