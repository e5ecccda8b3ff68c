// Attention in a block: vit/backend/attention.hpp.
#include <fmt/format.h>

#include <cmath>

#include "export/vit_emitter.hpp"

namespace vit::exporter {

std::string VitEmitter::attention(const std::string& name, const std::string& x, std::int64_t index) {
  const std::string context = attention_context(name, x, index);
  return linear("/" + name + "/attn/proj", context, name + ".attn.proj", weights_of(name, index).proj);
}

std::string VitEmitter::attention_context(const std::string& name, const std::string& x, std::int64_t index) {
  const BlockWeights& weights = weights_of(name, index);
  const std::string module = "/" + name + "/attn";
  std::vector<std::string> qkv = projections(name, x, weights);
  qkv[0] = rows_that_are_read(module + "/q", qkv[0], index);
  const bool plain = !config_.qk_norm && config_.rotary == RotaryEmbedding::none &&
                     config_.relative_positions == RelativePositions::none &&
                     config_.attention == AttentionForm::softmax;
  std::string context;
  if (plain && builder_.opset() >= 23 && !wants(GraphOutput::attentions)) {
    context = builder_.node(module, "Attention", qkv,
                            {{"q_num_heads", config_.num_heads}, {"kv_num_heads", config_.num_heads}});
  } else {
    context = softmax_attention(name, prepared_heads(name, qkv, index), index);
  }
  if (config_.attn_norm) context = norm(module + "/norm", context, name + ".attn.norm", weights.attn_norm);
  return context;
}

/// q, k, v [batch, T, h, d], q and k normed and turned where the network does so; with two maps for each head
/// q and k [batch, T, 2 h, d/2]
std::vector<std::string> VitEmitter::prepared_heads(const std::string& name,
                                                    const std::vector<std::string>& qkv, std::int64_t index) {
  const BlockWeights& weights = weights_of(name, index);
  const std::string module = "/" + name + "/attn";
  const std::int64_t maps = config_.num_heads * config_.maps_per_head();
  std::string q = split_heads(module + "/q", qkv[0], maps);
  std::string k = split_heads(module + "/k", qkv[1], maps);
  if (config_.qk_norm) {
    q = norm(module + "/q_norm", q, name + ".attn.q_norm", weights.q_norm);
    k = norm(module + "/k_norm", k, name + ".attn.k_norm", weights.k_norm);
  }
  if (config_.rotary != RotaryEmbedding::none) {
    q = rotated(module + "/q_rotary", q, index);
    k = rotated(module + "/k_rotary", k, index);
  }
  return {q, k, split_heads(module + "/v", qkv[2], config_.num_heads)};
}

/// q, k and v [batch, T, D]
std::vector<std::string> VitEmitter::projections(const std::string& name, const std::string& x,
                                                 const BlockWeights& weights) {
  const std::string module = "/" + name + "/attn";
  const std::int64_t D = config_.hidden_size;
  // Heads that serve several are written as often as they are read: runtimes need know nothing of them.
  const LinearWeights all_rows = ungrouped_qkv(config_, weights);
  std::vector<std::string> qkv;
  if (!options_.ranges.empty()) {
    // In 8 bits as one layer: ONNX Runtime multiplies integers only where a rounded value has one reader.
    const std::string all = linear(module + "/qkv", x, name + ".attn.qkv", all_rows);
    qkv = builder_.split(module + "/qkv", all, builder_.ints({D, D, D}), 3);
  } else {
    for (const std::string part : {"q", "k", "v"}) {
      const auto first = static_cast<std::int64_t>(qkv.size()) * D;
      qkv.push_back(linear(module + "/" + part, x, name + ".attn." + part, all_rows.rows(first, D)));
    }
  }
  if (!all_rows.bias.empty()) return qkv;
  // OpenCV 5 takes attention apart by patterns that have a bias, and fails where there is none.
  const std::string none = builder_.zeros({D});
  const auto bias_of = [&](const char* part, const WeightView& bias) {
    return bias.empty() ? none : vector(name + ".attn." + part, bias);
  };
  return {builder_.node(module + "/q", "Add", {qkv[0], bias_of("q_bias", weights.q_bias)}),
          builder_.node(module + "/k", "Add", {qkv[1], none}),
          builder_.node(module + "/v", "Add", {qkv[2], bias_of("v_bias", weights.v_bias)})};
}

std::string VitEmitter::split_heads(const std::string& module, const std::string& x, std::int64_t heads) {
  return builder_.node(module, "Reshape", {x, builder_.ints({0, 0, heads, config_.hidden_size / heads})});
}

std::string VitEmitter::transpose(const std::string& module, const std::string& x,
                                  std::vector<std::int64_t> perm) {
  return builder_.node(module, "Transpose", {x}, {{"perm", std::move(perm)}});
}

std::string VitEmitter::merge_heads(const std::string& module, const std::string& x) {
  return builder_.node(module, "Reshape",
                       {transpose(module, x, {0, 2, 1, 3}), builder_.ints({0, 0, config_.hidden_size})});
}

std::string VitEmitter::scaled_scores(const std::string& module, const Queries& q, const std::string& kt) {
  // On the scores and as Div: what offline optimisers look for to fuse attention.
  const auto root = static_cast<float>(std::sqrt(static_cast<double>(q.size)));
  const std::string products = builder_.node(module + "/scores", "MatMul", {q.name, kt});
  return builder_.node(
      module, "Div",
      {products,
       builder_.scalar(q.size == config_.query_size() ? "sqrt_head_size" : "sqrt_pool_head_size", root)});
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
  std::string scores = scaled_scores(module, {q, config_.query_size()}, kt);
  if (config_.relative_positions != RelativePositions::none)
    scores = builder_.node(module, "Add", {scores, relative_bias(name, index)});
  std::string probs = softmax(module, scores);
  const bool differential = config_.attention == AttentionForm::differential;
  if (differential) probs = map_difference(name, probs, index);
  if (!name.ends_with(".twin")) {
    probs = publish(probs, GraphOutput::attentions, {batch_, config_.num_heads, num_tokens(), num_tokens()},
                    index);
  }
  const std::string context = builder_.node(module + "/context", "MatMul", {probs, v});
  return merge_heads(module, differential ? sub_norm(name, context, index) : context);
}

/// λ = exp(λq₁ · λk₁) − exp(λq₂ · λk₂) + what it starts from: constants alone, which runtimes compute once.
std::string VitEmitter::lambda(const std::string& name, const BlockWeights& weights, std::int64_t index) {
  const std::string module = "/" + name + "/attn/lambda";
  const auto size = static_cast<float>(config_.query_size());
  const auto exponential = [&](const char* q_name, const WeightView& q, const char* k_name,
                               const WeightView& k) {
    const std::string products = builder_.node(
        module, "Mul", {vector(name + ".attn." + q_name, q), vector(name + ".attn." + k_name, k)});
    const std::string sum =
        builder_.node(module, "Mul", {mean(module, products, 0, true), builder_.scalar("query_size", size)});
    return builder_.node(module, "Exp", {sum});
  };
  const std::string first = exponential("lambda_q1", weights.lambda_q1, "lambda_k1", weights.lambda_k1);
  const std::string second = exponential("lambda_q2", weights.lambda_q2, "lambda_k2", weights.lambda_k2);
  const auto initial = static_cast<float>(initial_lambda(index));
  return builder_.node(module, "Add",
                       {builder_.node(module, "Sub", {first, second}),
                        builder_.scalar(fmt::format("initial_lambda_{}", index), initial)});
}

std::string VitEmitter::map_difference(const std::string& name, const std::string& maps, std::int64_t index) {
  const std::string module = "/" + name + "/attn/difference";
  const auto every_second = [&](const char* which, std::int64_t from) {
    std::vector<std::int64_t> heads;
    for (std::int64_t i = 0; i < config_.num_heads; ++i) heads.push_back(2 * i + from);
    return builder_.node(module, "Gather",
                         {maps, builder_.named_ints(which, {config_.num_heads}, std::move(heads))},
                         {{"axis", std::int64_t{1}}});
  };
  const std::string first = every_second("first_maps", 0);
  const std::string factor = lambda(name, weights_of(name, index), index);
  const std::string second = builder_.node(module, "Mul", {every_second("second_maps", 1), factor});
  return builder_.node(module, "Sub", {first, second});
}

/// (1 − λ's start) γ context / √(mean(context²) + 1e-5), of every head [batch, h, T, d]
std::string VitEmitter::sub_norm(const std::string& name, const std::string& context, std::int64_t index) {
  const std::string module = "/" + name + "/attn/sub_norm";
  const std::string gamma = vector(name + ".attn.sub_norm.weight", weights_of(name, index).sub_norm.weight);
  const auto factor = static_cast<float>(1 - initial_lambda(index));
  return builder_.node(module, "Mul",
                       {rms_norm(module, context, gamma, 1e-5F),
                        builder_.scalar(fmt::format("sub_norm_scale_{}", index), factor)});
}

}  // namespace vit::exporter
