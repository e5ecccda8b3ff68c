// Logits -> scores -> the best labels. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace vit {

/// How logits become scores.
enum class ScoreFunction {
  softmax,  ///< one label is right
  sigmoid,  ///< any number of labels may be right; also what a single label gets
  none,     ///< the logits as they are: a regression's values
};

/// "softmax", "sigmoid", "none"
std::string_view to_string(ScoreFunction function);

/// One answer.
struct Prediction {
  std::int64_t index = 0;
  float score = 0;
};

/// softmax(x)ᵢ = exp(xᵢ − max x) / Σⱼ exp(xⱼ − max x), summed in double. Safe for any finite logits.
std::vector<float> softmax(std::span<const float> logits);

/// σ(x) = 1 / (1 + exp(−x)), for each logit by itself.
std::vector<float> sigmoid(std::span<const float> logits);

/// The k best, best first; equal logits in the order of their index, scores that only round to the same in
/// that of their logits. k larger than K gives all, 0 or less none.
/// Throws Error(not_finite) if a logit is NaN or infinite: that is never a label.
std::vector<Prediction> predict(std::span<const float> logits, ScoreFunction function, std::int64_t k);

}  // namespace vit
