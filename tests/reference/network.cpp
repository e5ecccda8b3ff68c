#include "tests/reference/network.hpp"

#include <algorithm>

#include "tests/reference/layers.hpp"
#include "tests/reference/positions.hpp"

namespace vit::reference {
namespace {

/// The layers below a prefix of the tensor names, each with its own weights.
struct Scope {
  const Parameters& parameters;
  const Rounding& rounding;
  std::string prefix;

  Scope block(std::int64_t i) const { return {parameters, rounding, "blocks." + std::to_string(i) + "."}; }

  /// Empty where there is none: a bias or layer scale that the config denies.
  Array operator[](const std::string& name) const {
    const auto found = parameters.find(prefix + name);
    return found == parameters.end() ? Array() : found->second;
  }
  Array stored(Array x) const {
    rounding(x);
    return x;
  }
  Array linear(const Array& x, const std::string& name) const {
    return stored(reference::linear(x, (*this)[name + ".weight"], (*this)[name + ".bias"]));
  }
  Array layer_norm(const Array& x, const std::string& name, double epsilon) const {
    return stored(reference::layer_norm(x, (*this)[name + ".weight"], (*this)[name + ".bias"], epsilon));
  }
  Array layer_scale(Array x, const std::string& name) const {
    const Array gamma = (*this)[name + ".gamma"];
    return gamma.empty() ? x : stored(scale_channels(std::move(x), gamma));
  }
};

/// [B, T, D]
Array embeddings(const ModelConfig& config, const Scope& weights, const Array& pixel_values) {
  const Array patches = weights.stored(
      patch_embed(pixel_values, weights["patch_embed.proj.weight"], weights["patch_embed.proj.bias"]));
  std::vector<double> prefix;
  for (const char* name : {"cls_token", "dist_token", "reg_token"}) {
    const Array tokens = weights[name];
    prefix.insert(prefix.end(), tokens.values.begin(), tokens.values.end());
  }
  const std::int64_t D = config.hidden_size;
  const std::int64_t P = static_cast<std::int64_t>(prefix.size()) / D;
  const Array table =
      weights.stored(positions(config, weights["pos_embed"], {pixel_values.dim(2), pixel_values.dim(3)}));
  Array x({patches.dim(0), P + patches.dim(1), D});
  for (std::int64_t b = 0; b < x.dim(0); ++b) {
    for (std::int64_t t = 0; t < x.dim(1); ++t) {
      for (std::int64_t d = 0; d < D; ++d) {
        x(b, t, d) =
            (t < P ? prefix[static_cast<std::size_t>(t * D + d)] : patches(b, t - P, d)) + table(t, d);
      }
    }
  }
  x = weights.stored(std::move(x));
  return config.pre_norm ? weights.layer_norm(x, "norm_pre", static_cast<double>(config.layer_norm_eps)) : x;
}

/// Every head of q or k by itself.
Array norm_heads(const ModelConfig& config, const Scope& weights, Array x, const std::string& name) {
  if (!config.qk_norm) return x;
  const Shape shape = x.shape;
  x.shape = {shape[0], shape[1], config.num_heads, config.hidden_size / config.num_heads};
  x = weights.layer_norm(x, name, static_cast<double>(config.layer_norm_eps));
  x.shape = shape;
  return x;
}

Array mlp(const ModelConfig& config, const Scope& weights, const Array& x, const std::string& name) {
  Array inner = weights.linear(x, name + ".fc1");
  if (config.mlp == Mlp::gated) {
    const Array up = columns(inner, config.mlp_size, config.mlp_size);
    inner = activate(config.activation, columns(inner, 0, config.mlp_size));
    for (std::size_t i = 0; i < inner.values.size(); ++i) inner.values[i] *= up.values[i];
  } else {
    inner = activate(config.activation, std::move(inner));
  }
  inner = weights.stored(std::move(inner));
  if (name == "mlp" && config.mlp_norm)
    inner = weights.layer_norm(inner, "mlp.norm", static_cast<double>(config.layer_norm_eps));
  return weights.linear(inner, name + ".fc2");
}

/// [B, T, 3 D]: k without a bias where the config says so.
Array project(const ModelConfig& config, const Scope& weights, const Array& x) {
  if (config.key_bias) return weights.linear(x, "attn.qkv");
  Array bias({3 * config.hidden_size});
  const Array q = weights["attn.q_bias"];
  const Array v = weights["attn.v_bias"];
  std::copy(q.values.begin(), q.values.end(), bias.values.begin());
  std::copy(v.values.begin(), v.values.end(), bias.values.end() - config.hidden_size);
  return weights.stored(reference::linear(x, weights["attn.qkv.weight"], bias));
}

/// The tables of a block and of all blocks, added up; empty without either.
Array relative_table(const Scope& weights) {
  const Array own = weights["attn.relative_position_bias_table"];
  const auto shared = weights.parameters.find("rel_pos_bias.relative_position_bias_table");
  if (shared == weights.parameters.end()) return own;
  return own.empty() ? shared->second : add(own, shared->second);
}

struct BlockResult {
  Array probs;
  Array x;
};

BlockResult block(const ModelConfig& config, const Scope& weights, Array x, Size2 grid) {
  const std::int64_t D = config.hidden_size;
  const double epsilon = static_cast<double>(config.layer_norm_eps);
  const Array qkv = project(config, weights, weights.layer_norm(x, "norm1", epsilon));
  Array q = norm_heads(config, weights, columns(qkv, 0, D), "attn.q_norm");
  Array k = norm_heads(config, weights, columns(qkv, D, D), "attn.k_norm");
  if (config.rotary != RotaryEmbedding::none) {
    q = weights.stored(rotated(config, q, grid));
    k = weights.stored(rotated(config, k, grid));
  }
  const Array table = relative_table(weights);
  const Array bias = table.empty() ? Array() : relative_bias(config, table, grid);
  AttentionResult heads = attention(q, k, columns(qkv, 2 * D, D), config.num_heads, bias);
  heads = {weights.stored(std::move(heads.probs)), weights.stored(std::move(heads.context))};
  if (config.attn_norm) heads.context = weights.layer_norm(heads.context, "attn.norm", epsilon);
  x = weights.stored(add(x, weights.layer_scale(weights.linear(heads.context, "attn.proj"), "ls1")));
  const Array fed = mlp(config, weights, weights.layer_norm(x, "norm2", epsilon), "mlp");
  x = weights.stored(add(x, weights.layer_scale(fed, "ls2")));
  return {std::move(heads.probs), std::move(x)};
}

/// Tokens [from, from + count) of every image.
Array tokens(const Array& x, std::int64_t from, std::int64_t count) {
  Array y({x.dim(0), count, x.dim(2)});
  for (std::int64_t b = 0; b < y.dim(0); ++b) {
    for (std::int64_t t = 0; t < count; ++t) {
      for (std::int64_t d = 0; d < y.dim(2); ++d) y(b, t, d) = x(b, from + t, d);
    }
  }
  return y;
}

/// [B, D]
Array token(const Array& x, std::int64_t index) {
  Array y = tokens(x, index, 1);
  y.shape = {x.dim(0), x.dim(2)};
  return y;
}

/// [B, D]
Array mean_of_patches(const ModelConfig& config, const Array& x) {
  const std::int64_t P = config.num_prefix_tokens();
  Array mean({x.dim(0), x.dim(2)});
  for (std::int64_t b = 0; b < x.dim(0); ++b) {
    for (std::int64_t t = P; t < x.dim(1); ++t) {
      for (std::int64_t d = 0; d < x.dim(2); ++d)
        mean(b, d) += x(b, t, d) / static_cast<double>(x.dim(1) - P);
    }
  }
  return mean;
}

/// The latent as one more query of an attention in which the patches are keys and values.
Array attention_pool(const ModelConfig& config, const Scope& weights, const Array& x) {
  const std::int64_t D = config.hidden_size;
  const Array patches = tokens(x, config.num_prefix_tokens(), x.dim(1) - config.num_prefix_tokens());
  const Array kv = weights.linear(patches, "attn_pool.kv");
  const Array latent = weights.linear(weights["attn_pool.latent"], "attn_pool.q");
  Array q({patches.dim(0), patches.dim(1), D});  // the same query for every token: the first is read
  for (std::size_t i = 0; i < q.values.size(); ++i) q.values[i] = latent.values[i % latent.values.size()];
  const Array heads = attention(q, columns(kv, 0, D), columns(kv, D, D), config.num_heads).context;
  const Array y = weights.linear(token(weights.stored(heads), 0), "attn_pool.proj");
  const Array normed = weights.layer_norm(y, "attn_pool.norm", static_cast<double>(config.layer_norm_eps));
  return add(y, mlp(config, weights, normed, "attn_pool.mlp"));
}

/// [B, feature size]
Array pool(const ModelConfig& config, const Scope& weights, const Array& x) {
  switch (config.pooling) {
    case Pooling::cls:
      return token(x, 0);
    case Pooling::mean:
      return mean_of_patches(config, x);
    case Pooling::attention:
      return attention_pool(config, weights, x);
    case Pooling::cls_and_mean:
      break;
  }
  const Array cls = token(x, 0);
  const Array mean = mean_of_patches(config, x);
  Array pooled({x.dim(0), 2 * x.dim(2)});
  for (std::int64_t b = 0; b < x.dim(0); ++b) {
    for (std::int64_t d = 0; d < x.dim(2); ++d) {
      pooled(b, d) = cls(b, d);
      pooled(b, x.dim(2) + d) = mean(b, d);
    }
  }
  return pooled;
}

}  // namespace

Parameters parameters(const ModelConfig& config, Weights& weights) {
  Parameters result;
  for_each_tensor(config, weights, [&](const TensorSpec& spec, const WeightView& view) {
    const Tensor tensor = view.to_tensor();
    result[spec.name] = Array(spec.shape, {tensor.elements().begin(), tensor.elements().end()});
  });
  return result;
}

Stages forward(const ModelConfig& config, const Parameters& parameters, const Array& pixel_values,
               const Rounding& rounding) {
  const Scope weights{parameters, rounding, ""};
  Stages stages;
  Array x = stages.embeddings = embeddings(config, weights, pixel_values);
  const Size2 grid{pixel_values.dim(2) / config.patch_size.height,
                   pixel_values.dim(3) / config.patch_size.width};
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    BlockResult result = block(config, weights.block(i), x, grid);
    stages.attention_probs.push_back(std::move(result.probs));
    stages.blocks.push_back(x = std::move(result.x));
  }
  const auto epsilon = static_cast<double>(config.layer_norm_eps);
  if (config.final_norm == FinalNorm::before_pooling) x = weights.layer_norm(x, "norm", epsilon);
  stages.last_hidden_state = x;
  Array pooled = weights.stored(pool(config, weights, x));
  if (config.final_norm == FinalNorm::after_pooling) pooled = weights.layer_norm(pooled, "fc_norm", epsilon);
  stages.features = pooled;
  if (config.pooler_size > 0 && config.num_classes == 0) {  // the head does not read it
    stages.features =
        weights.stored(activate(config.pooler_activation, weights.linear(pooled, "pooler.dense")));
  }
  if (config.pre_logits_size > 0)
    pooled = weights.stored(activate(Activation::tanh, weights.linear(pooled, "pre_logits")));
  if (config.num_classes > 0) stages.logits = weights.linear(pooled, "head");
  if (config.distillation == Distillation::head) {
    stages.logits = add(stages.logits, weights.linear(token(x, 1), "head_dist"));
    for (double& value : stages.logits.values) value /= 2;
  }
  return stages;
}

}  // namespace vit::reference
