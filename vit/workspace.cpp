#include "vit/workspace.hpp"

#include <algorithm>

namespace vit {

Workspace::Workspace(const ModelConfig& config, const BlockTypes& types, const Options& options)
    : hidden_states{nullptr, {options.batch, options.tokens, config.hidden_size}},
      all_tokens_(options.tokens) {
  const std::int64_t B = options.batch;
  const std::int64_t T = options.tokens;
  const std::int64_t rows = B * T;
  const auto buffer = [&](std::int64_t columns, ValueType type) {
    return ValueBuffer(rows, columns, type, memory);
  };
  const auto stream = [&] {
    return static_cast<float*>(buffer(config.hidden_size, ValueType::f32).values().data);
  };
  streams_[0].tokens = stream();
  if (options.merged > 0) {
    streams_[1].tokens = stream();
    sizes_ = Tensor({2, B, T});
    streams_[0].sizes = sizes_.data();
    streams_[1].sizes = sizes_.data() + B * T;
    merge_buffers_ =
        TokenMerging({B, T, config.num_prefix_tokens(), options.merged, config.num_heads, config.head_size()})
            .buffers();
  }
  hidden_view = hidden_states;
  take_all_tokens();
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

void Workspace::go_on(std::size_t stream, std::int64_t tokens) {
  current_ = stream;
  hidden_states.data = streams_[stream].tokens;
  hidden_states.shape[1] = tokens;
  hidden_view.data = hidden_states.data;
  hidden_view.shape[1] = tokens;
}

void Workspace::take_all_tokens() {
  go_on(0, all_tokens_);
  if (streams_[0].sizes != nullptr)
    std::fill_n(streams_[0].sizes, hidden_states.shape[0] * all_tokens_, 1.0F);
}

void Workspace::merge_tokens(const TokenMerging& merging) {
  const std::size_t next = 1 - current_;
  merging.run(qkv.values(), streams_[current_], streams_[next], merge_buffers_);
  go_on(next, merging.shape().left());
  lap(profile, LayerKind::other);
}

}  // namespace vit
