#include "vit/head.hpp"

namespace vit {

Head::Head(backend::Context& context, const Model::Packed& like, std::int64_t batch)
    : linear_(context, batch, *like.head) {
  if (like.pre_logits)
    pre_logits_.emplace(context, batch, *like.pre_logits, backend::Epilogue{.activation = Activation::tanh});
}

void Head::forward(const Model::Packed& weights, Workspace& workspace) {
  float* const logits = workspace.logits.data();    // [B, K]
  const float* features = workspace.pooled.data();  // [B, feature size]
  if (pre_logits_) {                                // features = tanh(features Wᵀ + b)
    pre_logits_->run(features, *weights.pre_logits, workspace.pre_logits.data());
    features = workspace.pre_logits.data();
  }
  if (!weights.head_dist) {
    linear_.run(features, *weights.head, logits);  // logits = features Wᵀ + b
    return;
  }
  float* const cls = workspace.cls_logits.data();                    // [B, K]
  float* const distillation = workspace.distillation_logits.data();  // [B, K]
  linear_.run(features, *weights.head, cls);                         // cls = x[:, 0] Wᵀ + b
  linear_.run(workspace.distilled.data(), *weights.head_dist,
              distillation);  // distillation = x[:, 1] Wdᵀ + bd
  for (std::int64_t i = 0; i < workspace.logits.size(); ++i) logits[i] = (cls[i] + distillation[i]) / 2;
}

}  // namespace vit
