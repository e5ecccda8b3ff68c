#include "vit/encoder_block.hpp"

namespace vit {
namespace {

/// A gate brings the activation itself.
backend::Epilogue fc1_epilogue(const ModelConfig& config) {
  if (config.mlp == Mlp::gated) return {.activation = {}, .multiply = true};
  return {.activation = config.activation};
}

}  // namespace

EncoderBlock::EncoderBlock(backend::Context& context, const ModelConfig& config, const PackedBlock& like,
                           const AttentionPositions& positions, const Options& options)
    : positions_(positions),
      batch_(options.batch),
      attention_maps_(options.attention_maps),
      head_rows_{batch_ * options.tokens, 3 * config.hidden_size, config.num_heads, config.head_size()},
      rotary_shape_{batch_,           options.tokens,    config.num_prefix_tokens(), 3 * config.hidden_size,
                    config.num_heads, config.head_size()},
      rotary_layout_(config.rotary_layout),
      epsilon_(config.layer_norm_eps),
      norm_(context, batch_ * options.tokens, config.hidden_size, config.layer_norm_eps),
      qkv_(context, batch_ * options.tokens, like.qkv),
      attention_(context, {options.tokens, config.num_heads, config.head_size()}, attention_maps_),
      proj_(context, batch_ * options.tokens, like.proj, {.activation = {}, .accumulate = true}),
      fc1_(context, batch_ * options.tokens, like.fc1, fc1_epilogue(config)),
      fc2_(context, batch_ * options.tokens, like.fc2, {.activation = {}, .accumulate = true}) {
  const std::int64_t rows = batch_ * options.tokens;
  if (like.gate) gate_.emplace(context, rows, *like.gate, backend::Epilogue{.activation = config.activation});
  if (like.mlp_norm) mlp_norm_.emplace(context, rows, config.mlp_size, config.layer_norm_eps);
}

void EncoderBlock::prepare_heads(const PackedBlock& weights, float* qkv) const {
  float* const q = qkv;
  float* const k = qkv + head_rows_.heads * head_rows_.head_size;
  if (weights.q_norm) {
    backend::normalise_heads(q, head_rows_, *weights.q_norm, epsilon_);  // q = LayerNorm(q) / √d
    backend::normalise_heads(k, head_rows_, *weights.k_norm, epsilon_);  // k = LayerNorm(k)
  }
  if (positions_.rotary) {
    backend::rotate_heads(q, rotary_shape_, *positions_.rotary, rotary_layout_);  // q = R q
    backend::rotate_heads(k, rotary_shape_, *positions_.rotary, rotary_layout_);  // k = R k
  }
}

void EncoderBlock::forward(const PackedBlock& weights, std::int64_t index, Workspace& workspace,
                           Observer* observer) {
  float* const x = workspace.hidden_states.data();  // [B, T, D]
  float* const normed = workspace.normed.data();    // [B, T, D]
  float* const qkv = workspace.qkv.data();          // [B, T, 3, h, d]
  float* const context = workspace.context.data();  // [B, T, h, d]
  float* const mlp = workspace.mlp.data();          // [B, T, F]
  const std::int64_t qkv_stride = workspace.qkv.size() / batch_;
  const std::int64_t context_stride = workspace.context.size() / batch_;
  const std::int64_t scores_stride = attention_maps_ ? attention_.scores_size() : 0;

  norm_.run(x, weights.norm1, normed);  // normed = LayerNorm1(x)
  qkv_.run(normed, weights.qkv, qkv);   // qkv = normed Wqkvᵀ + b
  prepare_heads(weights, qkv);
  for (std::int64_t b = 0; b < batch_; ++b) {  // context = softmax(q kᵀ / √d + relative positions) v
    attention_.run(qkv + b * qkv_stride, workspace.scores.data() + b * scores_stride,
                   context + b * context_stride, positions_.relative_of(index));
  }
  if (attention_maps_ && observer != nullptr)
    observer->on_stage(Stage::attention_probs, index, workspace.maps_view);
  if (weights.attn_norm) norm_.run(context, *weights.attn_norm, context);
  proj_.run(context, weights.proj, x);  // x = x + γ₁ (context Wprojᵀ + b)
  norm_.run(x, weights.norm2, normed);  // normed = LayerNorm2(x)
  if (weights.gate) {
    float* const gate = workspace.gate.data();       // [B, T, F]
    gate_->run(normed, *weights.gate, gate);         // gate = act(normed Wgᵀ + bg)
    fc1_.run_times(gate, normed, weights.fc1, mlp);  // mlp = gate ⊙ (normed Wuᵀ + bu)
  } else {
    fc1_.run(normed, weights.fc1, mlp);  // mlp = act(normed W1ᵀ + b1)
  }
  if (weights.mlp_norm) mlp_norm_->run(mlp, *weights.mlp_norm, mlp);
  fc2_.run(mlp, weights.fc2, x);  // x = x + γ₂ (mlp W2ᵀ + b2)
  if (observer != nullptr) observer->on_stage(Stage::block, index, workspace.hidden_view);
}

std::vector<std::string> EncoderBlock::kernels() const {
  const std::vector<std::string> attention = attention_.kernels();
  std::vector<std::string> all{"blocks.norm  " + norm_.kernel(),       "blocks.attn.qkv  " + qkv_.kernel(),
                               "blocks.attn.scores  " + attention[0],  "blocks.attn.softmax  " + attention[1],
                               "blocks.attn.context  " + attention[2], "blocks.attn.proj  " + proj_.kernel(),
                               "blocks.mlp.fc1  " + fc1_.kernel(),     "blocks.mlp.fc2  " + fc2_.kernel()};
  if (gate_) all.push_back("blocks.mlp.gate  " + gate_->kernel());
  return all;
}

}  // namespace vit
