#include "vit/pooling.hpp"

#include <algorithm>

namespace vit {
namespace {

/// mean over the patch tokens of one image: tokens [T, D] -> mean [D]
void patch_mean(const float* tokens, std::int64_t T, std::int64_t D, std::int64_t prefix, float* mean) {
  std::fill_n(mean, D, 0.0F);
  for (std::int64_t t = prefix; t < T; ++t) {
    for (std::int64_t d = 0; d < D; ++d) mean[d] += tokens[t * D + d];
  }
  const auto count = static_cast<float>(T - prefix);
  for (std::int64_t d = 0; d < D; ++d) mean[d] /= count;
}

}  // namespace

void pool(const ModelConfig& config, const Tensor& hidden_states, Tensor& pooled) {
  const std::int64_t B = hidden_states.shape()[0];
  const std::int64_t T = hidden_states.shape()[1];
  const std::int64_t D = hidden_states.shape()[2];
  for (std::int64_t b = 0; b < B; ++b) {
    const float* tokens = hidden_states.data() + b * T * D;
    float* row = pooled.data() + b * config.feature_size();
    std::copy_n(tokens, D, row);  // the class token comes first in every kind of pooling so far
    if (config.pooling == Pooling::cls_and_mean)
      patch_mean(tokens, T, D, config.num_prefix_tokens(), row + D);
  }
}

}  // namespace vit
