#include "vit/workspace.hpp"

namespace vit {

Workspace::Workspace(const ModelConfig& config, const BlockTypes& types, const Options& options)
    : hidden_states{nullptr, {options.batch, options.tokens, config.hidden_size}} {
  const std::int64_t B = options.batch;
  const std::int64_t T = options.tokens;
  const std::int64_t rows = B * T;
  const auto buffer = [&](std::int64_t columns, ValueType type) {
    return ValueBuffer(rows, columns, type, memory);
  };
  hidden_states.data = static_cast<float*>(buffer(config.hidden_size, ValueType::f32).values().data);
  hidden_view = hidden_states;
  normed = buffer(config.hidden_size, types.normed);
  if (config.block == BlockForm::twin) twin_normed = buffer(config.hidden_size, types.normed);
  qkv = buffer(3 * config.hidden_size, types.qkv);
  if (options.attention_maps) {
    maps = Tensor({B, config.num_heads, T, T});
    maps_view = {maps.data(), maps.shape()};
  }
  context = buffer(config.hidden_size, types.context);
  mlp = buffer(config.mlp_size, types.mlp);
  if (config.mlp == Mlp::gated) gate = buffer(config.mlp_size, types.gate);
  pooled = Tensor({B, config.feature_size()});
  if (config.pooling == Pooling::attention) {
    pool_kv = Tensor({rows, 2 * config.hidden_size});
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
