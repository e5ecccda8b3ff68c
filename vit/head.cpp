#include "vit/head.hpp"

namespace vit {

void Head::forward(const Model::Packed& weights, Workspace& workspace) {
  float* const logits = workspace.logits.data();  // [B, K]
  if (!weights.head_dist) {
    linear_.run(workspace.pooled.data(), *weights.head, logits);  // logits = features Wᵀ + b
    return;
  }
  float* const cls = workspace.cls_logits.data();                    // [B, K]
  float* const distillation = workspace.distillation_logits.data();  // [B, K]
  linear_.run(workspace.pooled.data(), *weights.head, cls);          // cls = x[:, 0] Wᵀ + b
  linear_.run(workspace.distilled.data(), *weights.head_dist,
              distillation);  // distillation = x[:, 1] Wdᵀ + bd
  for (std::int64_t i = 0; i < workspace.logits.size(); ++i) logits[i] = (cls[i] + distillation[i]) / 2;
}

}  // namespace vit
