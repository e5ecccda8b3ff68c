// Token states -> the vector that the head is given. Internal to vit/.
#pragma once

#include "vit/config.hpp"
#include "vit/tensor.hpp"

namespace vit {

/// hidden_states [B, T, D] after the final norm -> pooled [B, feature size] by config.pooling.
void pool(const ModelConfig& config, const Tensor& hidden_states, Tensor& pooled);

}  // namespace vit
