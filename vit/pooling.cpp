#include "vit/pooling.hpp"

#include <algorithm>
#include <array>

#include "vit/error.hpp"

namespace vit {
namespace {

constexpr std::int64_t kColumns = 64;  // whose sums stay in registers and the first-level cache

/// mean over the tokens of one image behind the first `prefix`: tokens [T, D] -> mean [D]. Summed in double:
/// of thousands of tokens the mean is far smaller than they are.
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

/// The largest numbers of the tokens of one image behind the first `prefix`: tokens [T, D] -> largest [D].
void patch_max(const float* tokens, std::int64_t T, std::int64_t D, std::int64_t prefix, float* largest) {
  std::copy_n(tokens + prefix * D, D, largest);
  for (std::int64_t t = prefix + 1; t < T; ++t) {
    const float* token = tokens + t * D;
    for (std::int64_t d = 0; d < D; ++d) largest[d] = std::max(largest[d], token[d]);
  }
}

/// tokens [T, D] -> half of mean + max [D]
void patch_mean_max(const float* tokens, std::int64_t T, std::int64_t D, std::int64_t prefix, float* pooled) {
  patch_mean(tokens, T, D, prefix, pooled);
  for (std::int64_t begin = 0; begin < D; begin += kColumns) {
    const std::int64_t columns = std::min(kColumns, D - begin);
    std::array<float, kColumns> largest{};
    std::copy_n(tokens + prefix * D + begin, columns, largest.data());
    for (std::int64_t t = prefix + 1; t < T; ++t) {
      const float* token = tokens + t * D + begin;
      for (std::int64_t d = 0; d < columns; ++d) {
        float& top = largest[static_cast<std::size_t>(d)];
        top = std::max(top, token[d]);
      }
    }
    for (std::int64_t d = 0; d < columns; ++d) {
      float& value = pooled[begin + d];
      value = 0.5F * (largest[static_cast<std::size_t>(d)] + value);
    }
  }
}

}  // namespace

void pool(const ModelConfig& config, const ConstTensorView& states, Tensor& pooled) {
  const std::int64_t B = states.shape[0];
  const std::int64_t T = states.shape[1];
  const std::int64_t D = states.shape[2];
  const std::int64_t prefix = config.num_unpooled_tokens();
  for (std::int64_t b = 0; b < B; ++b) {
    const float* tokens = states.data + b * T * D;
    float* row = pooled.data() + b * config.feature_size();
    switch (config.pooling) {
      case Pooling::cls:
        std::copy_n(tokens, D, row);
        break;
      case Pooling::mean:
        patch_mean(tokens, T, D, prefix, row);
        break;
      case Pooling::cls_and_mean:
        std::copy_n(tokens, D, row);
        patch_mean(tokens, T, D, prefix, row + D);
        break;
      case Pooling::max:
        patch_max(tokens, T, D, prefix, row);
        break;
      case Pooling::mean_max:
        patch_mean_max(tokens, T, D, prefix, row);
        break;
      case Pooling::attention:
        throw Error(ErrorCode::internal, "attention pooling is no reduction");
    }
  }
}

void take_token(const ConstTensorView& states, std::int64_t token, Tensor& taken) {
  const std::int64_t D = states.shape[2];
  const std::int64_t per_image = states.shape[1] * D;
  for (std::int64_t b = 0; b < states.shape[0]; ++b) {
    std::copy_n(states.data + b * per_image + token * D, D, taken.data() + b * D);
  }
}

}  // namespace vit
