#include "tests/reference/network.hpp"

#include <algorithm>
#include <cmath>

#include "tests/reference/layers.hpp"
#include "tests/reference/positions.hpp"
#include "tests/reference/token_merging.hpp"

namespace vit::reference {
namespace {

/// The layers below a prefix of the tensor names, each with its own weights.
struct Scope {
  const Parameters& parameters;
  const Rounding& rounding;
  std::string prefix;

  Scope block(std::int64_t i) const { return {parameters, rounding, "blocks." + std::to_string(i) + "."}; }
  Scope below(const std::string& name) const { return {parameters, rounding, prefix + name}; }

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
  Array norm(const ModelConfig& config, const Array& x, const std::string& name) const {
    const auto epsilon = static_cast<double>(config.layer_norm_eps);
    const Array gamma = (*this)[name + ".weight"];
    if (config.norm == NormKind::rms) return stored(rms_norm(x, gamma, epsilon));
    return stored(layer_norm(x, gamma, (*this)[name + ".bias"], epsilon));
  }
  Array layer_scale(Array x, const std::string& name) const {
    const Array gamma = (*this)[name + ".gamma"];
    return gamma.empty() ? x : stored(scale_channels(std::move(x), gamma));
  }
};

/// [B, T, D]
Array embeddings(const ModelConfig& config, const Scope& weights, const Array& pixel_values) {
  Array patches = weights.stored(
      patch_embed(pixel_values, weights["patch_embed.proj.weight"], weights["patch_embed.proj.bias"]));
  if (config.embed_norm) patches = weights.norm(config, patches, "patch_embed.norm");
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
  return config.pre_norm ? weights.norm(config, x, "norm_pre") : x;
}

/// The last axis cut into `heads` parts, each normed by itself.
template <class Norm>
Array norm_heads(Array x, std::int64_t heads, const Norm& norm) {
  const Shape shape = x.shape;
  x.shape = {shape[0], shape[1], heads, shape[2] / heads};
  x = norm(x);
  x.shape = shape;
  return x;
}

/// What fc2 reads.
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
  if (name == "mlp" && config.mlp_norm) inner = weights.norm(config, inner, "mlp.norm");
  return inner;
}

/// [B, T, D] of [B, T, kv heads · d]: each of them for as many heads as share it.
Array repeat_heads(const ModelConfig& config, const Array& x) {
  const std::int64_t d = config.hidden_size / config.num_heads;
  const std::int64_t shared_by = config.num_heads / config.num_kv_heads;
  Array y({x.dim(0), x.dim(1), config.hidden_size});
  for (std::int64_t b = 0; b < y.dim(0); ++b) {
    for (std::int64_t t = 0; t < y.dim(1); ++t) {
      for (std::int64_t i = 0; i < y.dim(2); ++i) y(b, t, i) = x(b, t, i / d / shared_by * d + i % d);
    }
  }
  return y;
}

struct Projections {
  Array q, k, v;  // [B, T, D]
};

/// [B, T, 3 D]: k without a bias where the config says so.
Array project_all(const ModelConfig& config, const Scope& weights, const Array& x) {
  if (config.key_bias) return weights.linear(x, "attn.qkv");
  Array bias({3 * config.hidden_size});
  const Array q = weights["attn.q_bias"];
  const Array v = weights["attn.v_bias"];
  std::copy(q.values.begin(), q.values.end(), bias.values.begin());
  std::copy(v.values.begin(), v.values.end(), bias.values.end() - config.hidden_size);
  return weights.stored(reference::linear(x, weights["attn.qkv.weight"], bias));
}

Projections project(const ModelConfig& config, const Scope& weights, const Array& x) {
  const std::int64_t D = config.hidden_size;
  if (!weights["attn.kv.weight"].empty()) {
    const Array kv = weights.linear(x, "attn.kv");
    const std::int64_t half = kv.dim(2) / 2;
    return {weights.linear(x, "attn.q"), repeat_heads(config, columns(kv, 0, half)),
            repeat_heads(config, columns(kv, half, half))};
  }
  const Array qkv = project_all(config, weights, x);
  return {columns(qkv, 0, D), columns(qkv, D, D), columns(qkv, 2 * D, D)};
}

double sum_of_products(const Array& a, const Array& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) sum += a.values[i] * b.values[i];
  return sum;
}

/// Ye et al. 2024: two maps of each head, from the halves of its q and k, of which the second is taken off.
AttentionResult differential_attention(const ModelConfig& config, const Scope& weights, const Projections& in,
                                       std::int64_t index) {
  const std::int64_t h = config.num_heads;
  const std::int64_t d = config.hidden_size / h;
  const double initial = 0.8 - 0.6 * std::exp(-0.3 * static_cast<double>(index));
  const double lambda = std::exp(sum_of_products(weights["attn.lambda_q1"], weights["attn.lambda_k1"])) -
                        std::exp(sum_of_products(weights["attn.lambda_q2"], weights["attn.lambda_k2"])) +
                        initial;
  // Maps of 2 h heads of half the size; what they make of v does not matter.
  const Array maps = weights.stored(attention(in.q, in.k, in.v, 2 * h).probs);
  const std::int64_t B = maps.dim(0);
  const std::int64_t T = maps.dim(2);
  AttentionResult result{Array({B, h, T, T}), Array({B, T, config.hidden_size})};
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t i = 0; i < config.hidden_size; ++i) {
      const std::int64_t head = i / d;
      for (std::int64_t query = 0; query < T; ++query) {
        for (std::int64_t key = 0; key < T; ++key) {
          const double p = maps(b, 2 * head, query, key) - lambda * maps(b, 2 * head + 1, query, key);
          result.probs(b, head, query, key) = p;
          result.context(b, query, i) += p * in.v(b, key, i);
        }
      }
    }
  }
  const auto norm = [&](const Array& x) { return rms_norm(x, weights["attn.sub_norm.weight"], 1e-5); };
  result.context = norm_heads(weights.stored(std::move(result.context)), h, norm);
  for (double& value : result.context.values) value *= 1 - initial;
  return result;
}

/// The tables of a block and of all blocks, added up; empty without either.
Array relative_table(const Scope& weights) {
  const Array own = weights["attn.relative_position_bias_table"];
  const auto shared = weights.parameters.find("rel_pos_bias.relative_position_bias_table");
  if (shared == weights.parameters.end()) return own;
  return own.empty() ? shared->second : add(own, shared->second);
}

struct Place {
  std::int64_t block;
  Size2 grid;
  Array sizes = {};        // [B, T], empty where no tokens are merged
  std::int64_t merge = 0;  // tokens behind attention
};

/// The heads' maps and what they make of the values, before the projection.
struct Attended {
  Array probs, context;
  Array keys;  // [B, T, D]
};

Attended attend(const ModelConfig& config, const Scope& weights, const Array& x, const Place& place) {
  Projections in = project(config, weights, x);
  if (config.qk_norm) {
    const std::int64_t parts = config.num_heads * (config.attention == AttentionForm::differential ? 2 : 1);
    const auto norm = [&](const char* name) {
      return [&weights, &config, name](const Array& heads) { return weights.norm(config, heads, name); };
    };
    in.q = norm_heads(std::move(in.q), parts, norm("attn.q_norm"));
    in.k = norm_heads(std::move(in.k), parts, norm("attn.k_norm"));
  }
  if (config.rotary != RotaryEmbedding::none) {
    const auto learned = weights.parameters.find("rope.freqs");
    const Array frequencies = learned == weights.parameters.end() ? Array() : learned->second;
    in.q = weights.stored(rotated(config, in.q, place.grid, {frequencies, place.block}));
    in.k = weights.stored(rotated(config, in.k, place.grid, {frequencies, place.block}));
  }
  AttentionResult heads;
  if (config.attention == AttentionForm::differential) {
    heads = differential_attention(config, weights, in, place.block);
  } else {
    const Array table = relative_table(weights);
    const Array bias = table.empty() ? Array() : relative_bias(config, table, place.grid);
    heads = attention(in.q, in.k, in.v, config.num_heads, {bias, place.sizes});
  }
  Attended result{weights.stored(std::move(heads.probs)), weights.stored(std::move(heads.context)), in.k};
  if (config.attn_norm) result.context = weights.norm(config, result.context, "attn.norm");
  return result;
}

struct BlockResult {
  Array probs;
  Array x;
  Array sizes = {};  // of Place, behind the block
};

/// One matrix for both branches: context and the MLP's inner state side by side.
Array fused_projection(const Scope& weights, const Array& context, const Array& inner) {
  Array both({context.dim(0), context.dim(1), context.dim(2) + inner.dim(2)});
  for (std::int64_t b = 0; b < both.dim(0); ++b) {
    for (std::int64_t t = 0; t < both.dim(1); ++t) {
      for (std::int64_t i = 0; i < both.dim(2); ++i)
        both(b, t, i) = i < context.dim(2) ? context(b, t, i) : inner(b, t, i - context.dim(2));
    }
  }
  return weights.linear(both, "out_proj");
}

BlockResult parallel_block(const ModelConfig& config, const Scope& weights, const Array& x,
                           const Place& place) {
  const Array normed = weights.norm(config, x, "norm1");
  Attended heads = attend(config, weights, normed, place);
  const Array inner = mlp(config, weights, normed, "mlp");
  const Array sum =
      config.block == BlockForm::parallel_fused
          ? fused_projection(weights, heads.context, inner)
          : weights.stored(add(weights.linear(heads.context, "attn.proj"), weights.linear(inner, "mlp.fc2")));
  return {std::move(heads.probs), weights.stored(add(x, weights.layer_scale(sum, "ls1")))};
}

BlockResult twin_block(const ModelConfig& config, const Scope& weights, const Array& x, const Place& place) {
  const Scope twin = weights.below("twin.");
  BlockResult result{{}, x};
  for (const Scope* scope : {&weights, &twin}) {
    Attended heads = attend(config, *scope, scope->norm(config, x, "norm1"), place);
    if (scope == &weights) result.probs = heads.probs;
    const Array branch = scope->layer_scale(scope->linear(heads.context, "attn.proj"), "ls1");
    result.x = weights.stored(add(std::move(result.x), branch));
  }
  const Array y = result.x;
  for (const Scope* scope : {&weights, &twin}) {
    const Array inner = mlp(config, *scope, scope->norm(config, y, "norm2"), "mlp");
    const Array branch = scope->layer_scale(scope->linear(inner, "mlp.fc2"), "ls2");
    result.x = weights.stored(add(std::move(result.x), branch));
  }
  return result;
}

BlockResult block(const ModelConfig& config, const Scope& weights, Array x, const Place& place) {
  if (config.block == BlockForm::twin) return twin_block(config, weights, x, place);
  if (config.block != BlockForm::pre_norm && config.block != BlockForm::post_norm)
    return parallel_block(config, weights, x, place);
  const bool before = config.block == BlockForm::pre_norm;  // or behind the branch
  const auto norm_if = [&](bool wanted, Array y, const char* name) {
    return wanted ? weights.norm(config, y, name) : y;
  };
  Attended heads = attend(config, weights, norm_if(before, x, "norm1"), place);
  Array branch = norm_if(!before, weights.linear(heads.context, "attn.proj"), "norm1");
  x = weights.stored(add(x, weights.layer_scale(std::move(branch), "ls1")));
  Array sizes = place.sizes;
  if (place.merge > 0) {
    MergedTokens merged =
        merge_tokens(x, sizes, heads.keys, {config.num_heads, config.num_prefix_tokens(), place.merge});
    x = weights.stored(std::move(merged.x));
    sizes = std::move(merged.sizes);
  }
  const Array inner = mlp(config, weights, norm_if(before, x, "norm2"), "mlp");
  branch = norm_if(!before, weights.linear(inner, "mlp.fc2"), "norm2");
  x = weights.stored(add(x, weights.layer_scale(std::move(branch), "ls2")));
  return {std::move(heads.probs), std::move(x), std::move(sizes)};
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

/// [B, D], of all tokens where the config says so; each counts as often as its size says.
Array mean_of_patches(const ModelConfig& config, const Array& x, const Array& sizes) {
  const std::int64_t P = config.pool_prefix ? 0 : config.num_prefix_tokens();
  Array mean({x.dim(0), x.dim(2)});
  for (std::int64_t b = 0; b < x.dim(0); ++b) {
    const auto size = [&](std::int64_t t) { return sizes.empty() ? 1 : sizes(b, t); };
    double all = 0;
    for (std::int64_t t = P; t < x.dim(1); ++t) all += size(t);
    for (std::int64_t t = P; t < x.dim(1); ++t) {
      for (std::int64_t d = 0; d < x.dim(2); ++d) mean(b, d) += x(b, t, d) * size(t) / all;
    }
  }
  return mean;
}

/// [B, D], of the same tokens.
Array max_of_patches(const ModelConfig& config, const Array& x) {
  const std::int64_t P = config.pool_prefix ? 0 : config.num_prefix_tokens();
  Array largest = token(x, P);
  for (std::int64_t b = 0; b < x.dim(0); ++b) {
    for (std::int64_t t = P; t < x.dim(1); ++t) {
      for (std::int64_t d = 0; d < x.dim(2); ++d) largest(b, d) = std::max(largest(b, d), x(b, t, d));
    }
  }
  return largest;
}

/// The latent as one more query of an attention in which the tokens are keys and values.
Array attention_pool(const ModelConfig& config, const Scope& weights, const Array& x, Array sizes) {
  const std::int64_t D = config.hidden_size;
  const std::int64_t left_out = config.pool_prefix ? 0 : config.num_prefix_tokens();
  const Array patches = tokens(x, left_out, x.dim(1) - left_out);
  const std::int64_t pool_heads = config.attn_pool_heads > 0 ? config.attn_pool_heads : config.num_heads;
  const Array kv = weights.linear(patches, "attn_pool.kv");
  const Array latent = weights.linear(weights["attn_pool.latent"], "attn_pool.q");
  Array q({patches.dim(0), patches.dim(1), D});  // the same query for every token: the first is read
  for (std::size_t i = 0; i < q.values.size(); ++i) q.values[i] = latent.values[i % latent.values.size()];
  if (!sizes.empty()) sizes = columns(sizes, left_out, x.dim(1) - left_out);
  const Array heads = attention(q, columns(kv, 0, D), columns(kv, D, D), pool_heads, {{}, sizes}).context;
  const Array y = weights.linear(token(weights.stored(heads), 0), "attn_pool.proj");
  const Array normed = weights.norm(config, y, "attn_pool.norm");
  return add(y, weights.linear(mlp(config, weights, normed, "attn_pool.mlp"), "attn_pool.mlp.fc2"));
}

/// [B, feature size]
Array pool(const ModelConfig& config, const Scope& weights, const Array& x, const Array& sizes) {
  switch (config.pooling) {
    case Pooling::cls:
      return token(x, 0);
    case Pooling::mean:
      return mean_of_patches(config, x, sizes);
    case Pooling::max:
      return max_of_patches(config, x);
    case Pooling::mean_max: {
      Array pooled = add(mean_of_patches(config, x, sizes), max_of_patches(config, x));
      for (double& value : pooled.values) value /= 2;
      return pooled;
    }
    case Pooling::attention:
      return attention_pool(config, weights, x, sizes);
    case Pooling::cls_and_mean:
      break;
  }
  const Array cls = token(x, 0);
  const Array mean = mean_of_patches(config, x, sizes);
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
               const ForwardOptions& options) {
  const Scope weights{parameters, options.rounding, ""};
  Stages stages;
  Array x = stages.embeddings = embeddings(config, weights, pixel_values);
  const Size2 grid{pixel_values.dim(2) / config.patch_size.height,
                   pixel_values.dim(3) / config.patch_size.width};
  Array sizes;  // one for each token, where they are to be merged
  if (options.merge > 0) sizes = Array({x.dim(0), x.dim(1)});
  std::fill(sizes.values.begin(), sizes.values.end(), 1.0);
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    BlockResult result = block(config, weights.block(i), x, {i, grid, sizes, options.merge});
    sizes = std::move(result.sizes);
    stages.attention_probs.push_back(std::move(result.probs));
    stages.blocks.push_back(x = std::move(result.x));
  }
  if (config.final_norm == FinalNorm::before_pooling) x = weights.norm(config, x, "norm");
  stages.last_hidden_state = x;
  Array pooled = weights.stored(pool(config, weights, x, sizes));
  if (config.final_norm == FinalNorm::after_pooling) pooled = weights.norm(config, pooled, "fc_norm");
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
