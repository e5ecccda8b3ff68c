#include "vit/workspace.hpp"

namespace vit {

Workspace::Workspace(const ModelConfig& config, std::int64_t B, std::int64_t T)
    : hidden_states({B, T, config.hidden_size}),
      normed({B, T, config.hidden_size}),
      qkv({B, T, 3, config.num_heads, config.head_size()}),
      context({B, T, config.num_heads, config.head_size()}),
      mlp({B, T, config.mlp_size}),
      pooled({B, config.feature_size()}),
      hidden_view{hidden_states.data(), hidden_states.shape()} {
  if (config.block == BlockForm::twin) twin_normed = Tensor({B, T, config.hidden_size});
  if (config.mlp == Mlp::gated) gate = Tensor({B, T, config.mlp_size});
  if (config.pooling == Pooling::attention) {
    pool_context = Tensor({B, config.hidden_size});
    pool_mlp = Tensor({B, config.pool_mlp_size()});
  }
  if (config.distillation == Distillation::head) {
    distilled = Tensor({B, config.hidden_size});
    cls_logits = Tensor({B, config.num_classes});
    distillation_logits = Tensor({B, config.num_classes});
  }
  if (config.pre_logits_size > 0) pre_logits = Tensor({B, config.pre_logits_size});
  if (config.pooler_size > 0) pooler_output = Tensor({B, config.pooler_size});
  if (config.num_classes > 0) logits = Tensor({B, config.num_classes});
}

}  // namespace vit
