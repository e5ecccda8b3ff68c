// Attention pooling: a learned query looks at the patch tokens, an MLP follows (Zhai et al. 2022,
// arXiv:2106.04560, "MAP head"). Internal to vit/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vit/backend/attention.hpp"
#include "vit/backend/linear.hpp"
#include "vit/backend/norm.hpp"
#include "vit/packed_model.hpp"
#include "vit/workspace.hpp"

namespace vit {

class AttentionPool {
 public:
  AttentionPool(backend::Context& context, const ModelConfig& config, const PackedAttentionPool& like,
                std::int64_t batch, std::int64_t tokens);

  /// states [B, T, D] -> workspace.pooled [B, D].
  void forward(const float* states, const PackedAttentionPool& weights, Workspace& workspace);

  std::vector<std::string> kernels() const;

 private:
  std::int64_t prefix_;
  backend::Linear kv_;
  backend::LatentAttention attention_;
  backend::Linear proj_;
  backend::Norm norm_;
  backend::Linear fc1_;
  backend::Linear fc2_;
};

}  // namespace vit
