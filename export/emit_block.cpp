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
  const std::string y = add_branch(module + "/ls1", x, attended, name + ".ls1.gamma", weights.layer_scale1);
  const std::string normed2 = layer_norm(module + "/norm2", y, name + ".norm2", weights.norm2);
  const std::string mixed = mlp(name, normed2, weights);
  const std::string out = add_branch(module + "/ls2", y, mixed, name + ".ls2.gamma", weights.layer_scale2);
  return publish(out, GraphOutput::hidden_states, {batch_, num_tokens(), config_.hidden_size}, index + 1);
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
  const bool fused = builder_.opset() >= 23 && !wants(GraphOutput::attentions) && !config_.qk_norm;
  if (fused) {
    const std::string context = builder_.node(
        module, "Attention", qkv, {{"q_num_heads", config_.num_heads}, {"kv_num_heads", config_.num_heads}});
    return linear(module + "/proj", context, name + ".attn.proj", weights.proj);
  }
  qkv[0] = split_heads(module + "/q", qkv[0]);
  qkv[1] = split_heads(module + "/k", qkv[1]);
  qkv[2] = split_heads(module + "/v", qkv[2]);
  if (config_.qk_norm) {
    qkv[0] = layer_norm(module + "/q_norm", qkv[0], name + ".attn.q_norm", weights.q_norm);
    qkv[1] = layer_norm(module + "/k_norm", qkv[1], name + ".attn.k_norm", weights.k_norm);
  }
  const std::string context = softmax_attention(module, qkv, index);
  return linear(module + "/proj", context, name + ".attn.proj", weights.proj);
}

/// q, k and v [batch, T, D]
std::vector<std::string> VitEmitter::projections(const std::string& name, const std::string& x,
                                                 const BlockWeights& weights) {
  const std::string module = "/" + name + "/attn";
  const std::int64_t D = config_.hidden_size;
  if (!options_.ranges.empty()) {
    // In 8 bits as one layer: ONNX Runtime multiplies integers only where a rounded value has one reader.
    const std::string qkv = linear(module + "/qkv", x, name + ".attn.qkv", weights.qkv);
    return builder_.split(module + "/qkv", qkv, builder_.ints({D, D, D}), 3);
  }
  std::vector<std::string> qkv;
  for (const std::string part : {"q", "k", "v"}) {
    const auto first = static_cast<std::int64_t>(qkv.size()) * D;
    const std::string product =
        linear(module + "/" + part, x, name + ".attn." + part, weights.qkv.rows(first, D));
    // OpenCV 5 takes attention apart by patterns that have a bias, and fails where there is none.
    qkv.push_back(config_.qkv_bias
                      ? product
                      : builder_.node(module + "/" + part, "Add", {product, builder_.zeros({D})}));
  }
  return qkv;
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

std::string VitEmitter::attention_probs(const std::string& module, const std::string& q,
                                        const std::string& kt) {
  // On the scores and as Div: what offline optimisers look for to fuse attention.
  const auto root = static_cast<float>(std::sqrt(static_cast<double>(config_.head_size())));
  const std::string products = builder_.node(module + "/scores", "MatMul", {q, kt});
  const std::string scores =
      builder_.node(module, "Div", {products, builder_.scalar("sqrt_head_size", root)});
  return builder_.node(module, "Softmax", {scores}, {{"axis", std::int64_t{-1}}});
}

/// softmax(q kᵀ / √d) v, of heads q, k, v [batch, T, h, d]
std::string VitEmitter::softmax_attention(const std::string& module, const std::vector<std::string>& heads,
                                          std::int64_t index) {
  const std::string q = transpose(module + "/q", heads[0], {0, 2, 1, 3});   // [batch, h, T, d]
  const std::string kt = transpose(module + "/k", heads[1], {0, 2, 3, 1});  // [batch, h, d, T]
  const std::string v = transpose(module + "/v", heads[2], {0, 2, 1, 3});   // [batch, h, T, d]
  const std::string probs = publish(attention_probs(module, q, kt), GraphOutput::attentions,
                                    {batch_, config_.num_heads, num_tokens(), num_tokens()}, index);
  return merge_heads(module, builder_.node(module + "/context", "MatMul", {probs, v}));
}

std::string VitEmitter::mlp(const std::string& name, const std::string& x, const BlockWeights& weights) {
  const std::string module = "/" + name + "/mlp";
  const std::int64_t F = config_.mlp_size;
  switch (config_.mlp) {
    case Mlp::plain:
      break;
    case Mlp::gated: {
      const std::string gate = linear(module + "/fc1_g", x, name + ".mlp.fc1_g", weights.fc1.rows(0, F));
      const std::string up = linear(module + "/fc1_x", x, name + ".mlp.fc1_x", weights.fc1.rows(F, F));
      const std::string gated =
          builder_.node(module, "Mul", {activation(module + "/act", gate, config_.activation), up});
      return linear(module + "/fc2", gated, name + ".mlp.fc2", weights.fc2);
    }
  }
  const std::string hidden = linear(module + "/fc1", x, name + ".mlp.fc1", weights.fc1);
  return linear(module + "/fc2", activation(module + "/act", hidden, config_.activation), name + ".mlp.fc2",
                weights.fc2);
}

}  // namespace vit::exporter
