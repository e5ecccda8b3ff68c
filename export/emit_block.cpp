// Encoder blocks: vit/encoder_block.cpp.
#include <fmt/format.h>

#include "export/vit_emitter.hpp"

namespace vit::exporter {

std::string VitEmitter::block(std::int64_t index, const std::string& x) {
  std::string out;
  switch (config_.block) {
    case BlockForm::pre_norm:
      out = pre_norm_block(index, x);
      break;
    case BlockForm::post_norm:
      out = post_norm_block(index, x);
      break;
    case BlockForm::parallel:
    case BlockForm::parallel_fused:
      out = parallel_block(index, x);
      break;
    case BlockForm::twin:
      out = twin_block(index, x);
      break;
  }
  return publish(out, GraphOutput::hidden_states, {batch_, num_tokens(), config_.hidden_size}, index + 1);
}

/// x + γ₁ A(n₁ x), then x + γ₂ F(n₂ x)
std::string VitEmitter::pre_norm_block(std::int64_t index, const std::string& x) {
  const BlockWeights& weights = weights_.blocks[static_cast<std::size_t>(index)];
  const std::string name = fmt::format("blocks.{}", index);
  const std::string module = "/" + name;
  const std::string normed1 = norm(module + "/norm1", x, name + ".norm1", weights.norm1);
  const std::string attended = attention(name, normed1, index);
  const std::string rows = rows_that_are_read(module, x, index);
  const std::string y =
      add_branch(module + "/ls1", rows, attended, name + ".ls1.gamma", weights.layer_scale1);
  const std::string normed2 = norm(module + "/norm2", y, name + ".norm2", weights.norm2);
  const std::string mixed = mlp(name, normed2, weights);
  return add_branch(module + "/ls2", y, mixed, name + ".ls2.gamma", weights.layer_scale2);
}

/// x + n₁ A(x), then x + n₂ F(x)
std::string VitEmitter::post_norm_block(std::int64_t index, const std::string& x) {
  const BlockWeights& weights = weights_.blocks[static_cast<std::size_t>(index)];
  const std::string name = fmt::format("blocks.{}", index);
  const std::string module = "/" + name;
  const std::string attended =
      norm(module + "/norm1", attention(name, x, index), name + ".norm1", weights.norm1);
  const std::string rows = rows_that_are_read(module, x, index);
  const std::string y = add_branch(module + "/ls1", rows, attended, "", {});
  const std::string mixed = norm(module + "/norm2", mlp(name, y, weights), name + ".norm2", weights.norm2);
  return add_branch(module + "/ls2", y, mixed, "", {});
}

/// x + γ (A(n x) + F(n x))
std::string VitEmitter::parallel_block(std::int64_t index, const std::string& x) {
  const BlockWeights& weights = weights_.blocks[static_cast<std::size_t>(index)];
  const std::string name = fmt::format("blocks.{}", index);
  const std::string module = "/" + name;
  const std::string normed = norm(module + "/norm1", x, name + ".norm1", weights.norm1);
  const std::string context = attention_context(name, normed, index);
  const std::string inner = mlp_inner(name, rows_that_are_read(module + "/mlp", normed, index), weights);
  std::string sum;
  if (config_.block == BlockForm::parallel_fused) {
    const std::string both = builder_.node(module, "Concat", {context, inner}, {{"axis", std::int64_t{-1}}});
    sum = linear(module + "/out_proj", both, name + ".out_proj", weights.out_proj);
  } else {
    const std::string attended = linear(module + "/attn/proj", context, name + ".attn.proj", weights.proj);
    sum = builder_.node(module, "Add",
                        {attended, linear(module + "/mlp/fc2", inner, name + ".mlp.fc2", weights.fc2)});
  }
  const std::string rows = rows_that_are_read(module, x, index);
  return add_branch(module + "/ls2", rows, sum, name + ".ls1.gamma", weights.layer_scale1);
}

/// x + Σ γ A(n x), then x + Σ γ F(n x), of two each
std::string VitEmitter::twin_block(std::int64_t index, const std::string& x) {
  const std::string module = fmt::format("/blocks.{}", index);
  const std::vector<std::string> names{fmt::format("blocks.{}", index), fmt::format("blocks.{}.twin", index)};
  std::string y = rows_that_are_read(module, x, index);
  for (const std::string& name : names) {
    const BlockWeights& weights = weights_of(name, index);
    const std::string normed = norm("/" + name + "/norm1", x, name + ".norm1", weights.norm1);
    y = add_branch(module + "/ls1", y, attention(name, normed, index), name + ".ls1.gamma",
                   weights.layer_scale1);
  }
  std::string out = y;
  for (const std::string& name : names) {
    const BlockWeights& weights = weights_of(name, index);
    const std::string normed = norm("/" + name + "/norm2", y, name + ".norm2", weights.norm2);
    out = add_branch(module + "/ls2", out, mlp(name, normed, weights), name + ".ls2.gamma",
                     weights.layer_scale2);
  }
  return out;
}

const BlockWeights& VitEmitter::weights_of(const std::string& name, std::int64_t index) const {
  const auto i = static_cast<std::size_t>(index);
  return name.ends_with(".twin") ? weights_.twins[i] : weights_.blocks[i];
}

/// The tokens of the last block that pooling reads, if those are the first ones and nothing else reads the
/// others: attention of one query and an MLP of one row instead of T. x as it is in every other block.
std::string VitEmitter::rows_that_are_read(const std::string& module, const std::string& x,
                                           std::int64_t index) {
  const bool all = index + 1 < config_.num_layers || config_.pooling != Pooling::cls ||
                   wants(GraphOutput::last_hidden_state) || wants(GraphOutput::hidden_states) ||
                   wants(GraphOutput::attentions) || config_.rotary != RotaryEmbedding::none ||
                   config_.relative_positions != RelativePositions::none;  // their tables have T rows
  if (all) return x;
  const std::int64_t read = config_.distillation == Distillation::head ? 2 : 1;
  return builder_.node(module, "Slice", {x, builder_.ints({0}), builder_.ints({read}), builder_.ints({1})});
}

/// x + γ branch
std::string VitEmitter::add_branch(const std::string& module, const std::string& x, const std::string& branch,
                                   const std::string& gamma_name, const WeightView& gamma) {
  const std::string scaled =
      gamma.empty() ? branch : builder_.node(module, "Mul", {branch, vector(gamma_name, gamma)});
  return builder_.node(module, "Add", {x, scaled});
}

std::string VitEmitter::mlp(const std::string& name, const std::string& x, const BlockWeights& weights) {
  return linear("/" + name + "/mlp/fc2", mlp_inner(name, x, weights), name + ".mlp.fc2", weights.fc2);
}

std::string VitEmitter::mlp_inner(const std::string& name, const std::string& x,
                                  const BlockWeights& weights) {
  const std::string module = "/" + name + "/mlp";
  std::string hidden;
  switch (config_.mlp) {
    case Mlp::plain:
      hidden = activation(module + "/act", linear(module + "/fc1", x, name + ".mlp.fc1", weights.fc1),
                          config_.activation);
      break;
    case Mlp::gated:
      hidden = gated(name, x, weights);
      break;
  }
  if (config_.mlp_norm) hidden = norm(module + "/norm", hidden, name + ".mlp.norm", weights.mlp_norm);
  return hidden;
}

/// act(x Wgᵀ + bg) ⊙ (x Wuᵀ + bu)
std::string VitEmitter::gated(const std::string& name, const std::string& x, const BlockWeights& weights) {
  const std::string module = "/" + name + "/mlp";
  const std::int64_t F = config_.mlp_size;
  std::string gate;
  std::string up;
  if (!options_.ranges.empty()) {  // as one layer, as in projections()
    const std::string both = linear(module + "/fc1", x, name + ".mlp.fc1", weights.fc1);
    const std::vector<std::string> halves = builder_.split(module + "/fc1", both, builder_.ints({F, F}), 2);
    gate = halves[0];
    up = halves[1];
  } else {
    gate = linear(module + "/fc1_g", x, name + ".mlp.fc1_g", weights.fc1.rows(0, F));
    up = linear(module + "/fc1_x", x, name + ".mlp.fc1_x", weights.fc1.rows(F, F));
  }
  return builder_.node(module, "Mul", {activation(module + "/act", gate, config_.activation), up});
}

}  // namespace vit::exporter
