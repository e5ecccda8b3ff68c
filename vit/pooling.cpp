#include "vit/pooling.hpp"

#include <algorithm>
#include <array>

namespace vit {
namespace {

constexpr std::int64_t kColumns = 64;  // whose sums stay in registers and the first-level cache

/// mean over the patch tokens of one image: tokens [T, D] -> mean [D]. Summed in double: of thousands of
/// tokens the mean is far smaller than they are.
void patch_mean(const float* tokens, std::int64_t T, std::int64_t D, std::int64_t prefix, float* mean) {
  const auto N = static_cast<double>(T - prefix);
  for (std::int64_t begin = 0; begin < D; begin += kColumns) {
    const std::int64_t columns = std::min(kColumns, D - begin);
    std::array<double, kColumns> sums{};
    for (std::int64_t t = prefix; t < T; ++t) {
      const float* token = tokens + t * D + begin;
      for (std::int64_t d = 0; d < columns; ++d) {
        sums[static_cast<std::size_t>(d)] += static_cast<double>(token[d]);
      }
    }
    for (std::int64_t d = 0; d < columns; ++d) {
      mean[begin + d] = static_cast<float>(sums[static_cast<std::size_t>(d)] / N);
    }
  }
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
