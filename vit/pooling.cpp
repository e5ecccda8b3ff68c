#include "vit/pooling.hpp"

#include <algorithm>
#include <array>

#include "vit/error.hpp"

namespace vit {
namespace {

constexpr std::int64_t kColumns = 64;  // whose sums stay in registers and the first-level cache

/// The tokens of one image, of which the first `prefix` are left out.
struct ImageTokens {
  const float* states;  ///< [T, D]
  const float* sizes;   ///< [T], or null
  std::int64_t T, D, prefix;

  double size(std::int64_t t) const { return sizes == nullptr ? 1 : static_cast<double>(sizes[t]); }
};

/// mean over the tokens, weighted by their sizes -> mean [D]. Summed in double: of thousands of tokens the
/// mean is far smaller than they are.
void patch_mean(const ImageTokens& image, float* mean) {
  const auto& [tokens, sizes, T, D, prefix] = image;
  double N = 0;
  for (std::int64_t t = prefix; t < T; ++t) N += image.size(t);
  for (std::int64_t begin = 0; begin < D; begin += kColumns) {
    const std::int64_t columns = std::min(kColumns, D - begin);
    std::array<double, kColumns> sums{};
    for (std::int64_t t = prefix; t < T; ++t) {
      const float* token = tokens + t * D + begin;
      const double size = image.size(t);
      for (std::int64_t d = 0; d < columns; ++d) {
        sums[static_cast<std::size_t>(d)] += size * static_cast<double>(token[d]);
      }
    }
    for (std::int64_t d = 0; d < columns; ++d) {
      mean[begin + d] = static_cast<float>(sums[static_cast<std::size_t>(d)] / N);
    }
  }
}

/// The largest numbers of the tokens -> largest [D].
void patch_max(const ImageTokens& image, float* largest) {
  const auto& [tokens, sizes, T, D, prefix] = image;
  std::copy_n(tokens + prefix * D, D, largest);
  for (std::int64_t t = prefix + 1; t < T; ++t) {
    const float* token = tokens + t * D;
    for (std::int64_t d = 0; d < D; ++d) largest[d] = std::max(largest[d], token[d]);
  }
}

/// -> half of mean + max [D]
void patch_mean_max(const ImageTokens& image, float* pooled) {
  const auto& [tokens, sizes, T, D, prefix] = image;
  patch_mean(image, pooled);
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

void pool(const ModelConfig& config, const PooledTokens& tokens, Tensor& pooled) {
  const ConstTensorView& states = tokens.states;
  const std::int64_t B = states.shape[0];
  const std::int64_t T = states.shape[1];
  const std::int64_t D = states.shape[2];
  const std::int64_t prefix = config.num_unpooled_tokens();
  for (std::int64_t b = 0; b < B; ++b) {
    const ImageTokens image{states.data + b * T * D, tokens.sizes == nullptr ? nullptr : tokens.sizes + b * T,
                            T, D, prefix};
    float* row = pooled.data() + b * config.feature_size();
    switch (config.pooling) {
      case Pooling::cls:
        std::copy_n(image.states, D, row);
        break;
      case Pooling::mean:
        patch_mean(image, row);
        break;
      case Pooling::cls_and_mean:
        std::copy_n(image.states, D, row);
        patch_mean(image, row + D);
        break;
      case Pooling::max:
        patch_max(image, row);
        break;
      case Pooling::mean_max:
        patch_mean_max(image, row);
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
