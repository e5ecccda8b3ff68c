#include "vit/encoder_block.hpp"

#include "vit/backend/lanes.hpp"

namespace vit {
namespace {

/// Of the norm behind differential attention, which is one whatever the network's others are.
const backend::NormFormula kSubNorm{NormKind::rms, 1e-5F};

/// Rows for each of at most `threads` lanes: equally many, which are whole images where those can be shared
/// out.
std::vector<RowRange> share_rows(std::int64_t rows, std::int64_t threads) {
  constexpr std::int64_t kFewest =
      48;  // rows that keep a core busy for as long as it takes to fetch the weights
  if (rows < kFewest * threads) return {{0, rows}};
  std::vector<RowRange> ranges;
  std::int64_t first = 0;
  for (std::int64_t lane = 0; lane < threads; ++lane) {
    const std::int64_t count = (rows - first) / (threads - lane);
    ranges.push_back({first, count});
    first += count;
  }
  return ranges;
}

std::vector<std::unique_ptr<BlockLane>> build_lanes(const ModelConfig& config, const PackedBlock& like,
                                                    const BlockShape& shape) {
  const std::vector<RowRange> ranges = share_rows(shape.rows(), backend::ThreadScope::threads());
  const backend::ThreadScope scope(ranges.size() > 1 ? 1 : backend::ThreadScope::threads());
  std::vector<std::unique_ptr<BlockLane>> lanes;
  for (const RowRange& rows : ranges)
    lanes.push_back(std::make_unique<BlockLane>(config, like, shape.types, rows));
  return lanes;
}

}  // namespace

EncoderBlock::EncoderBlock(const ModelConfig& config, const PackedBlock& like,
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
      lanes_(build_lanes(config, like, shape)),
      attention_({shape.batch, shape.tokens, config.num_heads, config.head_size(), config.maps_per_head()},
                 {shape.types.qkv, shape.types.products, shape.types.context}) {}

template <class Body>
void EncoderBlock::on_lanes(Workspace& workspace, Body body) {
  if (lanes_.size() == 1) {
    body(*lanes_.front());
    return;
  }
  const auto count = static_cast<int>(lanes_.size());
  backend::for_each_on_lanes(count, count,
                             [&](int, std::int64_t i) { body(*lanes_[static_cast<std::size_t>(i)]); });
  lap(workspace.profile, LayerKind::other);  // waiting for the others
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
  attention_.run(qkv, workspace.maps.data(), context,  // context = softmax(q kᵀ / √d + relative positions) v
                 {positions_.relative_of(index), weights.lambda});
  lap(workspace.profile, LayerKind::attn);
  if (!weights.sub_norm) return;
  backend::normalise_heads(static_cast<float*>(context.data), context_rows_, *weights.sub_norm,
                           kSubNorm);  // context = (1 − λ₀) RMSNorm(context), head by head
  lap(workspace.profile, LayerKind::other);
}

void EncoderBlock::pre_norm(const PackedBlock& weights, std::int64_t index, Workspace& workspace,
                            Observer* observer) {
  float* const x = workspace.hidden_states.data;    // [B, T, D]
  const Values normed = workspace.normed.values();  // [B, T, D]
  on_lanes(workspace, [&](BlockLane& lane) {
    lane.norm(x, weights.norm1, normed);             // normed = Norm1(x)
    lane.project_heads(weights, normed, workspace);  // qkv = normed Wqkvᵀ + b
  });
  attend(weights, index, workspace);  // context = softmax(q kᵀ / √d) v
  show_maps(index, workspace, observer);
  on_lanes(workspace, [&](BlockLane& lane) {
    lane.project_context(weights, workspace, x);  // x = x + γ₁ (context Wprojᵀ + b)
    lane.norm(x, *weights.norm2, normed);         // normed = Norm2(x)
    lane.expand(weights, normed, workspace);      // mlp = act(normed W1ᵀ + b1)
    lane.contract(weights, workspace, x);         // x = x + γ₂ (mlp W2ᵀ + b2)
  });
}

void EncoderBlock::post_norm(const PackedBlock& weights, std::int64_t index, Workspace& workspace,
                             Observer* observer) {
  float* const x = workspace.hidden_states.data;                             // [B, T, D]
  auto* const branch = static_cast<float*>(workspace.normed.values().data);  // [B, T, D]
  on_lanes(workspace,
           [&](BlockLane& lane) { lane.project_heads(weights, x, workspace); });  // qkv = x Wqkvᵀ + b
  attend(weights, index, workspace);  // context = softmax(q kᵀ / √d) v
  show_maps(index, workspace, observer);
  on_lanes(workspace, [&](BlockLane& lane) {
    lane.project_context(weights, workspace, branch);  // branch = context Wprojᵀ + b
    lane.norm(branch, weights.norm1, branch);
    lane.add(branch, x);                        // x = x + Norm1(branch)
    lane.expand(weights, x, workspace);         // mlp = act(x W1ᵀ + b1)
    lane.contract(weights, workspace, branch);  // branch = mlp W2ᵀ + b2
    lane.norm(branch, *weights.norm2, branch);
    lane.add(branch, x);  // x = x + Norm2(branch)
  });
}

void EncoderBlock::parallel(const PackedBlock& weights, std::int64_t index, Workspace& workspace,
                            Observer* observer) {
  float* const x = workspace.hidden_states.data;    // [B, T, D]
  const Values normed = workspace.normed.values();  // [B, T, D]
  on_lanes(workspace, [&](BlockLane& lane) {
    lane.norm(x, weights.norm1, normed);             // normed = Norm(x)
    lane.project_heads(weights, normed, workspace);  // qkv = normed Wqkvᵀ + b
  });
  attend(weights, index, workspace);  // context = softmax(q kᵀ / √d) v
  show_maps(index, workspace, observer);
  on_lanes(workspace, [&](BlockLane& lane) {
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
  on_lanes(workspace, [&](BlockLane& lane) {
    lane.norm(x, first.norm1, normed);  // both before x changes
    lane.norm(x, second.norm1, twin_normed);
    lane.project_heads(first, normed, workspace);
  });
  attend(first, index, workspace);
  show_maps(index, workspace, observer);
  on_lanes(workspace, [&](BlockLane& lane) {
    lane.project_context(first, workspace, x);  // x = x + γ₁ A(normed)
    lane.project_heads(second, twin_normed, workspace);
  });
  attend(second, index, workspace);
  on_lanes(workspace, [&](BlockLane& lane) {
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
  std::vector<std::string> all = lanes_.front()->kernels();
  const std::vector<std::string> attention = attention_.kernels();
  all.push_back("blocks.attn.pack  " + attention[0]);
  all.push_back("blocks.attn.scores  " + attention[1]);
  all.push_back("blocks.attn.context  " + attention[2]);
  return all;
}

}  // namespace vit
