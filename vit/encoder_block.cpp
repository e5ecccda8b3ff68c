#include "vit/encoder_block.hpp"

#include "vit/backend/residual.hpp"

namespace vit {
namespace {

/// Of the norm behind differential attention, which is one whatever the network's others are.
const backend::NormFormula kSubNorm{NormKind::rms, 1e-5F};

/// A gate brings the activation itself.
backend::Epilogue fc1_epilogue(const ModelConfig& config) {
  if (config.mlp == Mlp::gated) return {.activation = {}, .multiply = true};
  return {.activation = config.activation};
}

/// What ends a branch adds to the residual stream, unless a norm has yet to come.
backend::Epilogue branch_epilogue(const ModelConfig& config) {
  return {.activation = {}, .accumulate = config.block != BlockForm::post_norm};
}

}  // namespace

EncoderBlock::EncoderBlock(backend::Context& context, const ModelConfig& config, const PackedBlock& like,
                           const AttentionPositions& positions, const Options& options)
    : positions_(positions),
      form_(config.block),
      batch_(options.batch),
      width_(config.hidden_size),
      attention_maps_(options.attention_maps),
      query_rows_{batch_ * options.tokens, 3 * config.hidden_size, config.num_heads * config.maps_per_head(),
                  config.query_size()},
      context_rows_{batch_ * options.tokens, config.hidden_size, config.num_heads, config.head_size()},
      rotary_shape_{batch_,           options.tokens,    config.num_prefix_tokens(), 3 * config.hidden_size,
                    config.num_heads, config.head_size()},
      rotary_layout_(config.rotary_layout),
      formula_(config),
      norm_(context, batch_ * options.tokens, config.hidden_size, formula_),
      qkv_(context, batch_ * options.tokens, like.qkv),
      attention_(context, {options.tokens, config.num_heads, config.head_size(), config.maps_per_head()},
                 attention_maps_),
      proj_(context, batch_ * options.tokens, like.proj, branch_epilogue(config)),
      fc1_(context, batch_ * options.tokens, like.fc1, fc1_epilogue(config)),
      fc2_(context, batch_ * options.tokens, like.fc2, branch_epilogue(config)) {
  const std::int64_t rows = batch_ * options.tokens;
  if (like.gate) gate_.emplace(context, rows, *like.gate, backend::Epilogue{.activation = config.activation});
  if (like.mlp_norm) mlp_norm_.emplace(context, rows, config.mlp_size, formula_);
}

void EncoderBlock::prepare_heads(const PackedBlock& weights, std::int64_t index, float* qkv) const {
  float* const q = qkv;
  float* const k = qkv + width_;
  if (weights.q_norm) {
    backend::normalise_heads(q, query_rows_, *weights.q_norm, formula_);  // q = Norm(q) / √d
    backend::normalise_heads(k, query_rows_, *weights.k_norm, formula_);  // k = Norm(k)
  }
  if (const backend::RotaryTable* rotary = positions_.rotary_of(index)) {
    backend::rotate_heads(q, rotary_shape_, *rotary, rotary_layout_);  // q = R q
    backend::rotate_heads(k, rotary_shape_, *rotary, rotary_layout_);  // k = R k
  }
}

void EncoderBlock::attend(const PackedBlock& weights, const float* src, std::int64_t index,
                          Workspace& workspace) {
  float* const qkv = workspace.qkv.data();          // [B, T, 3, h, d]
  float* const context = workspace.context.data();  // [B, T, h, d]
  const std::int64_t qkv_stride = workspace.qkv.size() / batch_;
  const std::int64_t context_stride = workspace.context.size() / batch_;
  const std::int64_t maps_stride = attention_maps_ ? workspace.maps_view.size() / batch_ : 0;

  qkv_.run(src, weights.qkv, qkv);  // qkv = src Wqkvᵀ + b
  lap(workspace.profile, LayerKind::attn_qkv);
  prepare_heads(weights, index, qkv);
  lap(workspace.profile, LayerKind::other);
  for (std::int64_t b = 0; b < batch_; ++b) {  // context = softmax(q kᵀ / √d + relative positions) v
    attention_.run(qkv + b * qkv_stride, workspace.scores.data() + b * maps_stride,
                   context + b * context_stride, {positions_.relative_of(index), weights.lambda});
  }
  lap(workspace.profile, LayerKind::attn);
  if (weights.sub_norm)  // context = (1 − λ₀) RMSNorm(context), head by head
    backend::normalise_heads(context, context_rows_, *weights.sub_norm, kSubNorm);
  lap(workspace.profile, LayerKind::other);
  if (weights.attn_norm) norm_.run(context, *weights.attn_norm, context);
  lap(workspace.profile, LayerKind::norm);
}

void EncoderBlock::expand(const PackedBlock& weights, const float* src, Workspace& workspace) {
  float* const mlp = workspace.mlp.data();  // [B, T, F]
  if (weights.gate) {
    float* const gate = workspace.gate.data();    // [B, T, F]
    gate_->run(src, *weights.gate, gate);         // gate = act(src Wgᵀ + bg)
    fc1_.run_times(gate, src, weights.fc1, mlp);  // mlp = gate ⊙ (src Wuᵀ + bu)
  } else {
    fc1_.run(src, weights.fc1, mlp);  // mlp = act(src W1ᵀ + b1)
  }
  lap(workspace.profile, LayerKind::mlp_fc1);
  if (weights.mlp_norm) mlp_norm_->run(mlp, *weights.mlp_norm, mlp);
  lap(workspace.profile, LayerKind::norm);
}

void EncoderBlock::pre_norm(const PackedBlock& weights, std::int64_t index, Workspace& workspace,
                            Observer* observer) {
  float* const x = workspace.hidden_states.data();  // [B, T, D]
  float* const normed = workspace.normed.data();    // [B, T, D]
  norm_.run(x, weights.norm1, normed);              // normed = Norm1(x)
  lap(workspace.profile, LayerKind::norm);
  attend(weights, normed, index, workspace);
  show_maps(index, workspace, observer);
  proj_.run(workspace.context.data(), weights.proj, x);  // x = x + γ₁ (context Wprojᵀ + b)
  lap(workspace.profile, LayerKind::attn_proj);
  norm_.run(x, *weights.norm2, normed);  // normed = Norm2(x)
  lap(workspace.profile, LayerKind::norm);
  expand(weights, normed, workspace);
  fc2_.run(workspace.mlp.data(), weights.fc2, x);  // x = x + γ₂ (mlp W2ᵀ + b2)
  lap(workspace.profile, LayerKind::mlp_fc2);
}

void EncoderBlock::post_norm(const PackedBlock& weights, std::int64_t index, Workspace& workspace,
                             Observer* observer) {
  float* const x = workspace.hidden_states.data();  // [B, T, D]
  float* const branch = workspace.normed.data();    // [B, T, D]
  attend(weights, x, index, workspace);
  show_maps(index, workspace, observer);
  proj_.run(workspace.context.data(), weights.proj, branch);  // branch = context Wprojᵀ + b
  lap(workspace.profile, LayerKind::attn_proj);
  norm_.run(branch, weights.norm1, branch);
  lap(workspace.profile, LayerKind::norm);
  backend::add_branch(x, branch, workspace.normed.size());  // x = x + Norm1(branch)
  lap(workspace.profile, LayerKind::other);
  expand(weights, x, workspace);
  fc2_.run(workspace.mlp.data(), weights.fc2, branch);  // branch = mlp W2ᵀ + b2
  lap(workspace.profile, LayerKind::mlp_fc2);
  norm_.run(branch, *weights.norm2, branch);
  lap(workspace.profile, LayerKind::norm);
  backend::add_branch(x, branch, workspace.normed.size());  // x = x + Norm2(branch)
  lap(workspace.profile, LayerKind::other);
}

void EncoderBlock::parallel(const PackedBlock& weights, std::int64_t index, Workspace& workspace,
                            Observer* observer) {
  float* const x = workspace.hidden_states.data();  // [B, T, D]
  float* const normed = workspace.normed.data();    // [B, T, D]
  norm_.run(x, weights.norm1, normed);              // normed = Norm(x)
  lap(workspace.profile, LayerKind::norm);
  attend(weights, normed, index, workspace);
  show_maps(index, workspace, observer);
  expand(weights, normed, workspace);
  proj_.run(workspace.context.data(), weights.proj, x);  // x = x + γ (context Wprojᵀ + b)
  lap(workspace.profile, LayerKind::attn_proj);
  fc2_.run(workspace.mlp.data(), weights.fc2, x);  // x = x + γ (mlp W2ᵀ + b2)
  lap(workspace.profile, LayerKind::mlp_fc2);
}

void EncoderBlock::twin(const PackedBlock& first, const PackedBlock& second, std::int64_t index,
                        Workspace& workspace, Observer* observer) {
  float* const x = workspace.hidden_states.data();          // [B, T, D]
  float* const normed = workspace.normed.data();            // [B, T, D]
  float* const twin_normed = workspace.twin_normed.data();  // [B, T, D]
  norm_.run(x, first.norm1, normed);                        // both before x changes
  norm_.run(x, second.norm1, twin_normed);
  lap(workspace.profile, LayerKind::norm);
  attend(first, normed, index, workspace);
  show_maps(index, workspace, observer);
  proj_.run(workspace.context.data(), first.proj, x);  // x = x + γ₁ A(normed)
  lap(workspace.profile, LayerKind::attn_proj);
  attend(second, twin_normed, index, workspace);
  proj_.run(workspace.context.data(), second.proj, x);  // x = x + γ₁' A'(twin_normed)
  lap(workspace.profile, LayerKind::attn_proj);
  norm_.run(x, *first.norm2, normed);
  norm_.run(x, *second.norm2, twin_normed);
  lap(workspace.profile, LayerKind::norm);
  expand(first, normed, workspace);
  fc2_.run(workspace.mlp.data(), first.fc2, x);  // x = x + γ₂ F(normed)
  lap(workspace.profile, LayerKind::mlp_fc2);
  expand(second, twin_normed, workspace);
  fc2_.run(workspace.mlp.data(), second.fc2, x);  // x = x + γ₂' F'(twin_normed)
  lap(workspace.profile, LayerKind::mlp_fc2);
}

void EncoderBlock::show_maps(std::int64_t index, const Workspace& workspace, Observer* observer) const {
  if (attention_maps_ && observer != nullptr)
    observer->on_stage(Stage::attention_probs, index, workspace.maps_view);
}

void EncoderBlock::forward(const Model::Packed& model, std::int64_t index, Workspace& workspace,
                           Observer* observer) {
  const auto i = static_cast<std::size_t>(index);
  switch (form_) {
    case BlockForm::pre_norm:
      pre_norm(model.blocks[i], index, workspace, observer);
      break;
    case BlockForm::post_norm:
      post_norm(model.blocks[i], index, workspace, observer);
      break;
    case BlockForm::parallel:
    case BlockForm::parallel_fused:
      parallel(model.blocks[i], index, workspace, observer);
      break;
    case BlockForm::twin:
      twin(model.blocks[i], model.twins[i], index, workspace, observer);
      break;
  }
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
