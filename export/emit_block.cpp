// One encoder block: vit/encoder_block.cpp.
#include <fmt/format.h>

#include <cmath>

#include "export/vit_emitter.hpp"

namespace vit::exporter {

std::string VitEmitter::block(std::int64_t index, const std::string& x) {
  const BlockWeights& weights = weights_.blocks[static_cast<std::size_t>(index)];
  const std::string name = fmt::format("blocks.{}", index);
  const std::string module = "/" + name;
  const std::string normed1 = layer_norm(module + "/norm1", x, name + ".norm1", weights.norm1);
  const std::string attended = attention(name, normed1, index);
  const std::string rows = rows_that_are_read(module, x, index);
  const std::string y =
      add_branch(module + "/ls1", rows, attended, name + ".ls1.gamma", weights.layer_scale1);
  const std::string normed2 = layer_norm(module + "/norm2", y, name + ".norm2", weights.norm2);
  const std::string mixed = mlp(name, normed2, weights);
  const std::string out = add_branch(module + "/ls2", y, mixed, name + ".ls2.gamma", weights.layer_scale2);
  return publish(out, GraphOutput::hidden_states, {batch_, num_tokens(), config_.hidden_size}, index + 1);
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

std::string VitEmitter::attention(const std::string& name, const std::string& x, std::int64_t index) {
  const BlockWeights& weights = weights_.blocks[static_cast<std::size_t>(index)];
  const std::string module = "/" + name + "/attn";
  std::vector<std::string> qkv = projections(name, x, weights);
  qkv[0] = rows_that_are_read(module + "/q", qkv[0], index);
  const bool plain = !config_.qk_norm && config_.rotary == RotaryEmbedding::none &&
                     config_.relative_positions == RelativePositions::none;
  std::string context;
  if (plain && builder_.opset() >= 23 && !wants(GraphOutput::attentions)) {
    context = builder_.node(module, "Attention", qkv,
                            {{"q_num_heads", config_.num_heads}, {"kv_num_heads", config_.num_heads}});
  } else {
    context = softmax_attention(name, prepared_heads(name, qkv, weights), index);
  }
  if (config_.attn_norm)
    context = layer_norm(module + "/norm", context, name + ".attn.norm", weights.attn_norm);
  return linear(module + "/proj", context, name + ".attn.proj", weights.proj);
}

/// q, k, v [batch, T, h, d], q and k normed and turned where the network does so
std::vector<std::string> VitEmitter::prepared_heads(const std::string& name,
                                                    const std::vector<std::string>& qkv,
                                                    const BlockWeights& weights) {
  const std::string module = "/" + name + "/attn";
  std::string q = split_heads(module + "/q", qkv[0]);
  std::string k = split_heads(module + "/k", qkv[1]);
  if (config_.qk_norm) {
    q = layer_norm(module + "/q_norm", q, name + ".attn.q_norm", weights.q_norm);
    k = layer_norm(module + "/k_norm", k, name + ".attn.k_norm", weights.k_norm);
  }
  if (config_.rotary != RotaryEmbedding::none) {
    q = rotated(module + "/q_rotary", q);
    k = rotated(module + "/k_rotary", k);
  }
  return {q, k, split_heads(module + "/v", qkv[2])};
}

/// q, k and v [batch, T, D]
std::vector<std::string> VitEmitter::projections(const std::string& name, const std::string& x,
                                                 const BlockWeights& weights) {
  const std::string module = "/" + name + "/attn";
  const std::int64_t D = config_.hidden_size;
  std::vector<std::string> qkv;
  if (!options_.ranges.empty()) {
    // In 8 bits as one layer: ONNX Runtime multiplies integers only where a rounded value has one reader.
    const std::string all = linear(module + "/qkv", x, name + ".attn.qkv", weights.qkv);
    qkv = builder_.split(module + "/qkv", all, builder_.ints({D, D, D}), 3);
  } else {
    for (const std::string part : {"q", "k", "v"}) {
      const auto first = static_cast<std::int64_t>(qkv.size()) * D;
      qkv.push_back(linear(module + "/" + part, x, name + ".attn." + part, weights.qkv.rows(first, D)));
    }
  }
  if (!weights.qkv.bias.empty()) return qkv;
  // OpenCV 5 takes attention apart by patterns that have a bias, and fails where there is none.
  const std::string none = builder_.zeros({D});
  const auto bias_of = [&](const char* part, const WeightView& bias) {
    return bias.empty() ? none : vector(name + ".attn." + part, bias);
  };
  return {builder_.node(module + "/q", "Add", {qkv[0], bias_of("q_bias", weights.q_bias)}),
          builder_.node(module + "/k", "Add", {qkv[1], none}),
          builder_.node(module + "/v", "Add", {qkv[2], bias_of("v_bias", weights.v_bias)})};
}

std::string VitEmitter::split_heads(const std::string& module, const std::string& x) {
  return builder_.node(module, "Reshape", {x, builder_.ints({0, 0, config_.num_heads, config_.head_size()})});
}

std::string VitEmitter::transpose(const std::string& module, const std::string& x,
                                  std::vector<std::int64_t> perm) {
  return builder_.node(module, "Transpose", {x}, {{"perm", std::move(perm)}});
}

std::string VitEmitter::merge_heads(const std::string& module, const std::string& x) {
  return builder_.node(module, "Reshape",
                       {transpose(module, x, {0, 2, 1, 3}), builder_.ints({0, 0, config_.hidden_size})});
}

std::string VitEmitter::scaled_scores(const std::string& module, const std::string& q,
                                      const std::string& kt) {
  // On the scores and as Div: what offline optimisers look for to fuse attention.
  const auto root = static_cast<float>(std::sqrt(static_cast<double>(config_.head_size())));
  const std::string products = builder_.node(module + "/scores", "MatMul", {q, kt});
  return builder_.node(module, "Div", {products, builder_.scalar("sqrt_head_size", root)});
}

std::string VitEmitter::softmax(const std::string& module, const std::string& x) {
  return builder_.node(module, "Softmax", {x}, {{"axis", std::int64_t{-1}}});
}

/// softmax(q kᵀ / √d + relative positions) v, of heads q, k, v [batch, T, h, d]
std::string VitEmitter::softmax_attention(const std::string& name, const std::vector<std::string>& heads,
                                          std::int64_t index) {
  const std::string module = "/" + name + "/attn";
  const std::string q = transpose(module + "/q", heads[0], {0, 2, 1, 3});   // [batch, h, T, d]
  const std::string kt = transpose(module + "/k", heads[1], {0, 2, 3, 1});  // [batch, h, d, T]
  const std::string v = transpose(module + "/v", heads[2], {0, 2, 1, 3});   // [batch, h, T, d]
  std::string scores = scaled_scores(module, q, kt);
  if (config_.relative_positions != RelativePositions::none)
    scores = builder_.node(module, "Add", {scores, relative_bias(name, index)});
  const std::string probs = publish(softmax(module, scores), GraphOutput::attentions,
                                    {batch_, config_.num_heads, num_tokens(), num_tokens()}, index);
  return merge_heads(module, builder_.node(module + "/context", "MatMul", {probs, v}));
}

std::string VitEmitter::mlp(const std::string& name, const std::string& x, const BlockWeights& weights) {
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
  if (config_.mlp_norm) hidden = layer_norm(module + "/norm", hidden, name + ".mlp.norm", weights.mlp_norm);
  return linear(module + "/fc2", hidden, name + ".mlp.fc2", weights.fc2);
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
