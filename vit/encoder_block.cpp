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

/// Of what the block's first products read: a norm's result, or the residual stream itself.
ValueType norm_type(const ModelConfig& config, const BlockTypes& types) {
  return config.block == BlockForm::post_norm ? ValueType::f32 : types.normed;
}

}  // namespace

EncoderBlock::EncoderBlock(backend::Context& context, const ModelConfig& config, const PackedBlock& like,
                           const AttentionPositions& positions, const BlockShape& shape)
    : positions_(positions),
      form_(config.block),
      width_(config.hidden_size),
      query_rows_{shape.rows(), 3 * config.hidden_size, config.num_heads * config.maps_per_head(),
                  config.query_size()},
      context_rows_{shape.rows(), config.hidden_size, config.num_heads, config.head_size()},
      rotary_shape_{shape.batch,      shape.tokens,      config.num_prefix_tokens(), 3 * config.hidden_size,
                    config.num_heads, config.head_size()},
      rotary_layout_(config.rotary_layout),
      formula_(config),
      norm_(context, {shape.rows(), config.hidden_size}, formula_, shape.types.normed),
      qkv_(context, shape.rows(), like.qkv, {}, {norm_type(config, shape.types), shape.types.qkv}),
      attention_({shape.batch, shape.tokens, config.num_heads, config.head_size(), config.maps_per_head()},
                 {shape.types.qkv, shape.types.products, shape.types.context}),
      proj_(context, shape.rows(), like.proj, branch_epilogue(config), {shape.types.context, ValueType::f32}),
      fc1_(context, shape.rows(), like.fc1, fc1_epilogue(config),
           {norm_type(config, shape.types), shape.types.mlp}),
      fc2_(context, shape.rows(), like.fc2, branch_epilogue(config), {shape.types.mlp, ValueType::f32}) {
  if (like.attn_norm) attn_norm_.emplace(context, backend::Rows{shape.rows(), config.hidden_size}, formula_);
  if (like.gate)
    gate_.emplace(context, shape.rows(), *like.gate, backend::Epilogue{.activation = config.activation},
                  backend::LinearTypes{norm_type(config, shape.types), shape.types.gate});
  if (like.mlp_norm) mlp_norm_.emplace(context, backend::Rows{shape.rows(), config.mlp_size}, formula_);
}

void EncoderBlock::prepare_heads(const PackedBlock& weights, std::int64_t index, Values values) const {
  const backend::RotaryTable* const rotary = positions_.rotary_of(index);
  if (!weights.q_norm && rotary == nullptr) return;
  auto* const q = static_cast<float*>(values.data);
  float* const k = q + width_;
  if (weights.q_norm) {
    backend::normalise_heads(q, query_rows_, *weights.q_norm, formula_);  // q = Norm(q) / √d
    backend::normalise_heads(k, query_rows_, *weights.k_norm, formula_);  // k = Norm(k)
  }
  if (rotary != nullptr) {
    backend::rotate_heads(q, rotary_shape_, *rotary, rotary_layout_);  // q = R q
    backend::rotate_heads(k, rotary_shape_, *rotary, rotary_layout_);  // k = R k
  }
}

void EncoderBlock::attend(const PackedBlock& weights, ConstValues src, std::int64_t index,
                          Workspace& workspace) {
  const Values qkv = workspace.qkv.values();          // [B, T, 3, h, d]
  const Values context = workspace.context.values();  // [B, T, h, d]
  Profile* const profile = workspace.profile;

  qkv_.run(src, weights.qkv, qkv);  // qkv = src Wqkvᵀ + b
  lap(profile, LayerKind::attn_qkv);
  prepare_heads(weights, index, qkv);
  lap(profile, LayerKind::other);
  attention_.run(qkv, workspace.maps.data(), context,  // context = softmax(q kᵀ / √d + relative positions) v
                 {positions_.relative_of(index), weights.lambda});
  lap(profile, LayerKind::attn);
  auto* const heads = static_cast<float*>(context.data);
  if (weights.sub_norm)  // context = (1 − λ₀) RMSNorm(context), head by head
    backend::normalise_heads(heads, context_rows_, *weights.sub_norm, kSubNorm);
  lap(profile, LayerKind::other);
  if (attn_norm_) attn_norm_->run(heads, *weights.attn_norm, heads);
  lap(profile, LayerKind::norm);
}

void EncoderBlock::expand(const PackedBlock& weights, ConstValues src, Workspace& workspace) {
  const Values mlp = workspace.mlp.values();  // [B, T, F]
  if (weights.gate) {
    const Values gate = workspace.gate.values();  // [B, T, F]
    gate_->run(src, *weights.gate, gate);         // gate = act(src Wgᵀ + bg)
    fc1_.run_times(gate, src, weights.fc1, mlp);  // mlp = gate ⊙ (src Wuᵀ + bu)
  } else {
    fc1_.run(src, weights.fc1, mlp);  // mlp = act(src W1ᵀ + b1)
  }
  lap(workspace.profile, LayerKind::mlp_fc1);
  if (!mlp_norm_) return;
  auto* const values = static_cast<float*>(mlp.data);
  mlp_norm_->run(values, *weights.mlp_norm, values);
  lap(workspace.profile, LayerKind::norm);
}

void EncoderBlock::pre_norm(const PackedBlock& weights, std::int64_t index, Workspace& workspace,
                            Observer* observer) {
  float* const x = workspace.hidden_states.data;    // [B, T, D]
  const Values normed = workspace.normed.values();  // [B, T, D]
  norm_.run(x, weights.norm1, normed);              // normed = Norm1(x)
  lap(workspace.profile, LayerKind::norm);
  attend(weights, normed, index, workspace);
  show_maps(index, workspace, observer);
  proj_.run(workspace.context.values(), weights.proj, x);  // x = x + γ₁ (context Wprojᵀ + b)
  lap(workspace.profile, LayerKind::attn_proj);
  norm_.run(x, *weights.norm2, normed);  // normed = Norm2(x)
  lap(workspace.profile, LayerKind::norm);
  expand(weights, normed, workspace);
  fc2_.run(workspace.mlp.values(), weights.fc2, x);  // x = x + γ₂ (mlp W2ᵀ + b2)
  lap(workspace.profile, LayerKind::mlp_fc2);
}

void EncoderBlock::post_norm(const PackedBlock& weights, std::int64_t index, Workspace& workspace,
                             Observer* observer) {
  float* const x = workspace.hidden_states.data;                             // [B, T, D]
  auto* const branch = static_cast<float*>(workspace.normed.values().data);  // [B, T, D]
  attend(weights, x, index, workspace);
  show_maps(index, workspace, observer);
  proj_.run(workspace.context.values(), weights.proj, branch);  // branch = context Wprojᵀ + b
  lap(workspace.profile, LayerKind::attn_proj);
  norm_.run(branch, weights.norm1, branch);
  lap(workspace.profile, LayerKind::norm);
  backend::add_branch(x, branch, workspace.normed.size());  // x = x + Norm1(branch)
  lap(workspace.profile, LayerKind::other);
  expand(weights, x, workspace);
  fc2_.run(workspace.mlp.values(), weights.fc2, branch);  // branch = mlp W2ᵀ + b2
  lap(workspace.profile, LayerKind::mlp_fc2);
  norm_.run(branch, *weights.norm2, branch);
  lap(workspace.profile, LayerKind::norm);
  backend::add_branch(x, branch, workspace.normed.size());  // x = x + Norm2(branch)
  lap(workspace.profile, LayerKind::other);
}

void EncoderBlock::parallel(const PackedBlock& weights, std::int64_t index, Workspace& workspace,
                            Observer* observer) {
  float* const x = workspace.hidden_states.data;    // [B, T, D]
  const Values normed = workspace.normed.values();  // [B, T, D]
  norm_.run(x, weights.norm1, normed);              // normed = Norm(x)
  lap(workspace.profile, LayerKind::norm);
  attend(weights, normed, index, workspace);
  show_maps(index, workspace, observer);
  expand(weights, normed, workspace);
  proj_.run(workspace.context.values(), weights.proj, x);  // x = x + γ (context Wprojᵀ + b)
  lap(workspace.profile, LayerKind::attn_proj);
  fc2_.run(workspace.mlp.values(), weights.fc2, x);  // x = x + γ (mlp W2ᵀ + b2)
  lap(workspace.profile, LayerKind::mlp_fc2);
}

void EncoderBlock::twin(const PackedBlock& first, const PackedBlock& second, std::int64_t index,
                        Workspace& workspace, Observer* observer) {
  float* const x = workspace.hidden_states.data;              // [B, T, D]
  const Values normed = workspace.normed.values();            // [B, T, D]
  const Values twin_normed = workspace.twin_normed.values();  // [B, T, D]
  norm_.run(x, first.norm1, normed);                          // both before x changes
  norm_.run(x, second.norm1, twin_normed);
  lap(workspace.profile, LayerKind::norm);
  attend(first, normed, index, workspace);
  show_maps(index, workspace, observer);
  proj_.run(workspace.context.values(), first.proj, x);  // x = x + γ₁ A(normed)
  lap(workspace.profile, LayerKind::attn_proj);
  attend(second, twin_normed, index, workspace);
  proj_.run(workspace.context.values(), second.proj, x);  // x = x + γ₁' A'(twin_normed)
  lap(workspace.profile, LayerKind::attn_proj);
  norm_.run(x, *first.norm2, normed);
  norm_.run(x, *second.norm2, twin_normed);
  lap(workspace.profile, LayerKind::norm);
  expand(first, normed, workspace);
  fc2_.run(workspace.mlp.values(), first.fc2, x);  // x = x + γ₂ F(normed)
  lap(workspace.profile, LayerKind::mlp_fc2);
  expand(second, twin_normed, workspace);
  fc2_.run(workspace.mlp.values(), second.fc2, x);  // x = x + γ₂' F'(twin_normed)
  lap(workspace.profile, LayerKind::mlp_fc2);
}

void EncoderBlock::show_maps(std::int64_t index, const Workspace& workspace, Observer* observer) const {
  if (workspace.maps.size() > 0 && observer != nullptr)
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
                               "blocks.attn.pack  " + attention[0],    "blocks.attn.scores  " + attention[1],
                               "blocks.attn.context  " + attention[2], "blocks.attn.proj  " + proj_.kernel(),
                               "blocks.mlp.fc1  " + fc1_.kernel(),     "blocks.mlp.fc2  " + fc2_.kernel()};
  if (gate_) all.push_back("blocks.mlp.gate  " + gate_->kernel());
  return all;
}

}  // namespace vit
