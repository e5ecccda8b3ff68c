#include "vit/encoder_block.hpp"

namespace vit {
namespace {

/// Of the norm behind differential attention, which is one whatever the network's others are.
const backend::NormFormula kSubNorm{NormKind::rms, 1e-5F};

}  // namespace

EncoderBlock::EncoderBlock(const ModelConfig& config, const AttentionPositions& positions,
                           const BlockShape& shape, BlockLaneSets lanes)
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
      lanes_(std::move(lanes)),
      attention_({shape.batch, shape.tokens, config.num_heads, config.head_size(), config.maps_per_head()},
                 {shape.types.qkv, shape.types.products, shape.types.context}) {
  if (shape.merged > 0)
    merging_.emplace(MergeShape{shape.batch, shape.tokens, config.num_prefix_tokens(), shape.merged,
                                config.num_heads, config.head_size()});
}

template <class Attention, class Mlp>
void EncoderBlock::finish(Workspace& workspace, Attention attention, Mlp mlp) {
  if (!merging_) {
    lanes_.attention->run(workspace, [&](BlockLane& lane) {
      attention(lane);
      mlp(lane);
    });
    return;
  }
  lanes_.attention->run(workspace, attention);
  workspace.merge_tokens(*merging_);  // x = x with the most similar tokens as one
  lanes_.mlp->run(workspace, mlp);
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

void EncoderBlock::attend(const PackedBlock& weights, std::int64_t index, Workspace& workspace) {
  const Values qkv = workspace.qkv.values();
  const Values context = workspace.context.values();
  prepare_heads(weights, index, qkv);
  lap(workspace.profile, LayerKind::other);
  // context = softmax(q kᵀ / √d + relative positions + ln sizes) v
  attention_.run(qkv, workspace.maps.data(), context,
                 {positions_.relative_of(index), weights.lambda, workspace.sizes()});
  lap(workspace.profile, LayerKind::attn);
  if (!weights.sub_norm) return;
  backend::normalise_heads(static_cast<float*>(context.data), context_rows_, *weights.sub_norm,
                           kSubNorm);  // context = (1 − λ₀) RMSNorm(context), head by head
  lap(workspace.profile, LayerKind::other);
}

void EncoderBlock::pre_norm(const PackedBlock& weights, std::int64_t index, Workspace& workspace,
                            Observer* observer) {
  const TensorView& x = workspace.hidden_states;    // [B, T, D]
  const Values normed = workspace.normed.values();  // [B, T, D]
  lanes_.attention->run(workspace, [&](BlockLane& lane) {
    lane.norm(x.data, weights.norm1, normed);        // normed = Norm1(x)
    lane.project_heads(weights, normed, workspace);  // qkv = normed Wqkvᵀ + b
  });
  attend(weights, index, workspace);  // context = softmax(q kᵀ / √d) v
  show_maps(index, workspace, observer);
  finish(
      workspace,
      [&](BlockLane& lane) {
        lane.project_context(weights, workspace, x.data);  // x = x + γ₁ (context Wprojᵀ + b)
      },
      [&](BlockLane& lane) {
        lane.norm(x.data, *weights.norm2, normed);  // normed = Norm2(x)
        lane.expand(weights, normed, workspace);    // mlp = act(normed W1ᵀ + b1)
        lane.contract(weights, workspace, x.data);  // x = x + γ₂ (mlp W2ᵀ + b2)
      });
}

void EncoderBlock::post_norm(const PackedBlock& weights, std::int64_t index, Workspace& workspace,
                             Observer* observer) {
  const TensorView& x = workspace.hidden_states;                             // [B, T, D]
  auto* const branch = static_cast<float*>(workspace.normed.values().data);  // [B, T, D]
  lanes_.attention->run(workspace, [&](BlockLane& lane) {
    lane.project_heads(weights, x.data, workspace);
  });                                 // qkv = x Wqkvᵀ + b
  attend(weights, index, workspace);  // context = softmax(q kᵀ / √d) v
  show_maps(index, workspace, observer);
  finish(
      workspace,
      [&](BlockLane& lane) {
        lane.project_context(weights, workspace, branch);  // branch = context Wprojᵀ + b
        lane.norm(branch, weights.norm1, branch);
        lane.add(branch, x.data);  // x = x + Norm1(branch)
      },
      [&](BlockLane& lane) {
        lane.expand(weights, x.data, workspace);    // mlp = act(x W1ᵀ + b1)
        lane.contract(weights, workspace, branch);  // branch = mlp W2ᵀ + b2
        lane.norm(branch, *weights.norm2, branch);
        lane.add(branch, x.data);  // x = x + Norm2(branch)
      });
}

void EncoderBlock::parallel(const PackedBlock& weights, std::int64_t index, Workspace& workspace,
                            Observer* observer) {
  float* const x = workspace.hidden_states.data;    // [B, T, D]
  const Values normed = workspace.normed.values();  // [B, T, D]
  lanes_.attention->run(workspace, [&](BlockLane& lane) {
    lane.norm(x, weights.norm1, normed);             // normed = Norm(x)
    lane.project_heads(weights, normed, workspace);  // qkv = normed Wqkvᵀ + b
  });
  attend(weights, index, workspace);  // context = softmax(q kᵀ / √d) v
  show_maps(index, workspace, observer);
  lanes_.attention->run(workspace, [&](BlockLane& lane) {
    lane.expand(weights, normed, workspace);      // mlp = act(normed W1ᵀ + b1)
    lane.project_context(weights, workspace, x);  // x = x + γ (context Wprojᵀ + b)
    lane.contract(weights, workspace, x);         // x = x + γ (mlp W2ᵀ + b2)
  });
}

void EncoderBlock::twin(const PackedBlock& first, const PackedBlock& second, std::int64_t index,
                        Workspace& workspace, Observer* observer) {
  float* const x = workspace.hidden_states.data;              // [B, T, D]
  const Values normed = workspace.normed.values();            // [B, T, D]
  const Values twin_normed = workspace.twin_normed.values();  // [B, T, D]
  lanes_.attention->run(workspace, [&](BlockLane& lane) {
    lane.norm(x, first.norm1, normed);  // both before x changes
    lane.norm(x, second.norm1, twin_normed);
    lane.project_heads(first, normed, workspace);
  });
  attend(first, index, workspace);
  show_maps(index, workspace, observer);
  lanes_.attention->run(workspace, [&](BlockLane& lane) {
    lane.project_context(first, workspace, x);  // x = x + γ₁ A(normed)
    lane.project_heads(second, twin_normed, workspace);
  });
  attend(second, index, workspace);
  lanes_.attention->run(workspace, [&](BlockLane& lane) {
    lane.project_context(second, workspace, x);  // x = x + γ₁' A'(twin_normed)
    lane.norm(x, *first.norm2, normed);
    lane.norm(x, *second.norm2, twin_normed);
    lane.expand(first, normed, workspace);
    lane.contract(first, workspace, x);  // x = x + γ₂ F(normed)
    lane.expand(second, twin_normed, workspace);
    lane.contract(second, workspace, x);  // x = x + γ₂' F'(twin_normed)
  });
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
  std::vector<std::string> all = lanes_.attention->kernels();
  const std::vector<std::string> attention = attention_.kernels();
  all.push_back("blocks.attn.pack  " + attention[0]);
  all.push_back("blocks.attn.scores  " + attention[1]);
  all.push_back("blocks.attn.context  " + attention[2]);
  return all;
}

}  // namespace vit
