// Token states -> the vector that the head is given. Internal to vit/.
#pragma once

#include <cstdint>

#include "vit/config.hpp"
#include "vit/tensor.hpp"

namespace vit {

struct PooledTokens {
  const ConstTensorView& states;  ///< [B, T, D]
  const float* sizes = nullptr;   ///< [B, T]: how many patches each of them stands for in a mean; null: one
};

/// tokens -> pooled [B, feature size] by config.pooling; attention pooling is AttentionPool's.
void pool(const ModelConfig& config, const PooledTokens& tokens, Tensor& pooled);

/// taken [B, D] = states[:, token]
void take_token(const ConstTensorView& states, std::int64_t token, Tensor& taken);

}  // namespace vit
