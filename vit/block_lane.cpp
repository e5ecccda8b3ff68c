#include "vit/block_lane.hpp"

#include "vit/backend/residual.hpp"

namespace vit {
namespace {

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
ValueType src_type(const ModelConfig& config, const BlockTypes& types) {
  return config.block == BlockForm::post_norm ? ValueType::f32 : types.normed;
}

}  // namespace

BlockLane::BlockLane(const ModelConfig& config, const PackedBlock& like, const BlockTypes& types,
                     RowRange rows, backend::Context& context)
    : rows_(rows),
      width_(config.hidden_size),
      mlp_width_(config.mlp_size),
      norm_(context, {rows.count, width_}, backend::NormFormula(config), types.normed),
      qkv_(context, rows.count, like.qkv, {}, {src_type(config, types), types.qkv}),
      proj_(context, rows.count, like.proj, branch_epilogue(config), {types.context, ValueType::f32}),
      fc1_(context, rows.count, like.fc1, fc1_epilogue(config), {src_type(config, types), types.mlp}),
      fc2_(context, rows.count, like.fc2, branch_epilogue(config), {types.mlp, ValueType::f32}) {
  const backend::NormFormula formula(config);
  if (like.attn_norm) attn_norm_.emplace(context, backend::Rows{rows.count, width_}, formula);
  if (like.mlp_norm) mlp_norm_.emplace(context, backend::Rows{rows.count, mlp_width_}, formula);
  if (like.gate)
    gate_.emplace(context, rows.count, *like.gate, backend::Epilogue{.activation = config.activation},
                  backend::LinearTypes{src_type(config, types), types.gate});
}

void BlockLane::norm(const float* x, const backend::NormParameters& parameters, Values dst) {
  norm_.run(x + rows_.first * width_, parameters, dst.from_row(rows_.first, width_));
}

void BlockLane::project_heads(const PackedBlock& weights, ConstValues src, Workspace& workspace) {
  lap(workspace, LayerKind::norm);
  qkv_.run(src.from_row(rows_.first, width_), weights.qkv,
           workspace.qkv.values().from_row(rows_.first, 3 * width_));
  lap(workspace, LayerKind::attn_qkv);
}

void BlockLane::project_context(const PackedBlock& weights, Workspace& workspace, float* dst) {
  const Values context = workspace.context.values().from_row(rows_.first, width_);
  if (attn_norm_) {
    auto* const heads = static_cast<float*>(context.data);
    attn_norm_->run(heads, *weights.attn_norm, heads);
  }
  lap(workspace, LayerKind::norm);
  proj_.run(context, weights.proj, dst + rows_.first * width_);
  lap(workspace, LayerKind::attn_proj);
}

void BlockLane::expand(const PackedBlock& weights, ConstValues src, Workspace& workspace) {
  const ConstValues from = src.from_row(rows_.first, width_);
  const Values mlp = workspace.mlp.values().from_row(rows_.first, mlp_width_);
  lap(workspace, LayerKind::norm);
  if (gate_) {
    const Values gate = workspace.gate.values().from_row(rows_.first, mlp_width_);
    gate_->run(from, *weights.gate, gate);
    fc1_.run_times(gate, from, weights.fc1, mlp);
  } else {
    fc1_.run(from, weights.fc1, mlp);
  }
  lap(workspace, LayerKind::mlp_fc1);
  if (!mlp_norm_) return;
  auto* const values = static_cast<float*>(mlp.data);
  mlp_norm_->run(values, *weights.mlp_norm, values);
  lap(workspace, LayerKind::norm);
}

void BlockLane::contract(const PackedBlock& weights, Workspace& workspace, float* dst) {
  fc2_.run(workspace.mlp.values().from_row(rows_.first, mlp_width_), weights.fc2, dst + rows_.first * width_);
  lap(workspace, LayerKind::mlp_fc2);
}

void BlockLane::add(const float* branch, float* x) const {
  backend::add_branch(x + rows_.first * width_, branch + rows_.first * width_, rows_.count * width_);
}

std::vector<std::string> BlockLane::kernels() const {
  std::vector<std::string> all{"blocks.norm  " + norm_.kernel(), "blocks.attn.qkv  " + qkv_.kernel(),
                               "blocks.attn.proj  " + proj_.kernel(), "blocks.mlp.fc1  " + fc1_.kernel(),
                               "blocks.mlp.fc2  " + fc2_.kernel()};
  if (gate_) all.push_back("blocks.mlp.gate  " + gate_->kernel());
  return all;
}

}  // namespace vit
