#include "tests/reference/network.hpp"

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

/// [B, 1 + N, D]
Array embeddings(const ModelConfig& config, const Scope& weights, const Array& pixel_values) {
  const Array patches = weights.stored(
      patch_embed(pixel_values, weights["patch_embed.proj.weight"], weights["patch_embed.proj.bias"]));
  const Array cls_token = weights["cls_token"];
  const Array table =
      weights.stored(positions(config, weights["pos_embed"], {pixel_values.dim(2), pixel_values.dim(3)}));
  Array x({patches.dim(0), 1 + patches.dim(1), patches.dim(2)});
  for (std::int64_t b = 0; b < x.dim(0); ++b) {
    for (std::int64_t t = 0; t < x.dim(1); ++t) {
      for (std::int64_t d = 0; d < x.dim(2); ++d) {
        x(b, t, d) = (t == 0 ? cls_token(0, 0, d) : patches(b, t - 1, d)) + table(t, d);
      }
    }
  }
  return weights.stored(std::move(x));
}

struct BlockResult {
  Array probs;
  Array x;
};

BlockResult block(const ModelConfig& config, const Scope& weights, Array x) {
  const std::int64_t D = config.hidden_size;
  const double epsilon = static_cast<double>(config.layer_norm_eps);
  const Array qkv = weights.linear(weights.layer_norm(x, "norm1", epsilon), "attn.qkv");
  AttentionResult heads =
      attention(columns(qkv, 0, D), columns(qkv, D, D), columns(qkv, 2 * D, D), config.num_heads);
  heads = {weights.stored(std::move(heads.probs)), weights.stored(std::move(heads.context))};
  x = weights.stored(add(x, weights.layer_scale(weights.linear(heads.context, "attn.proj"), "ls1")));
  const Array mlp = weights.stored(
      activate(config.activation, weights.linear(weights.layer_norm(x, "norm2", epsilon), "mlp.fc1")));
  x = weights.stored(add(x, weights.layer_scale(weights.linear(mlp, "mlp.fc2"), "ls2")));
  return {std::move(heads.probs), std::move(x)};
}

/// [B, feature size]
Array pool(const ModelConfig& config, const Array& x) {
  const std::int64_t B = x.dim(0);
  const std::int64_t N = x.dim(1) - 1;
  const std::int64_t D = x.dim(2);
  const bool with_mean = config.pooling == Pooling::cls_and_mean;
  Array pooled({B, with_mean ? 2 * D : D});
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t d = 0; d < D; ++d) {
      pooled(b, d) = x(b, 0, d);
      for (std::int64_t n = 0; with_mean && n < N; ++n) {
        pooled(b, D + d) += x(b, 1 + n, d) / static_cast<double>(N);
      }
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
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    BlockResult result = block(config, weights.block(i), x);
    stages.attention_probs.push_back(std::move(result.probs));
    stages.blocks.push_back(x = std::move(result.x));
  }
  stages.last_hidden_state = weights.layer_norm(x, "norm", static_cast<double>(config.layer_norm_eps));
  const Array pooled = weights.stored(pool(config, stages.last_hidden_state));
  stages.features = pooled;
  if (config.pooler_size > 0 && config.num_classes == 0) {  // the head does not read it
    stages.features =
        weights.stored(activate(config.pooler_activation, weights.linear(pooled, "pooler.dense")));
  }
  if (config.num_classes > 0) stages.logits = weights.linear(pooled, "head");
  return stages;
}

}  // namespace vit::reference
