// The tensors of a network: typed members, and the one table of names and shapes that everybody walks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "vit/config.hpp"
#include "vit/tensor.hpp"

namespace vit {

/// Bytes of (a part of) a tensor as they lie in a file: little-endian, row-major, of any alignment.
struct WeightPart {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t size = 0;  ///< elements
  /// Not 0: the file holds the transpose, [size / rows, rows], of a matrix of so many rows.
  std::int64_t transposed_rows = 0;
};

/// A tensor in its storage: one or more parts, one after the other along the first axis (q, k and v of
/// checkpoints that keep them apart). Nothing is copied until copy_to.
struct WeightView {
  Shape shape;
  std::vector<WeightPart> parts;

  bool empty() const { return parts.empty(); }
  std::int64_t size() const { return element_count(shape); }
  /// Widens to f32. `dst` has room for size() elements.
  void copy_to(float* dst) const;
  /// The same as a fresh tensor.
  Tensor to_tensor() const;
  /// `count` of the first axis, from `begin` on; refers to the same memory. Throws Error(internal) outside of
  /// it and within a transposed part.
  WeightView rows(std::int64_t begin, std::int64_t count) const;
};

struct LinearWeights {
  WeightView weight;  ///< [out, in]
  WeightView bias;    ///< [out], empty where the config says there is none
};

struct NormWeights {
  WeightView weight;  ///< γ [D]
  WeightView bias;    ///< β [D]
};

struct BlockWeights {
  NormWeights norm1;
  LinearWeights qkv;        ///< [3 D, D], rows q then k then v
  LinearWeights proj;       ///< [D, D]
  WeightView layer_scale1;  ///< [D]
  NormWeights norm2;
  LinearWeights fc1;        ///< [F, D]
  LinearWeights fc2;        ///< [D, F]
  WeightView layer_scale2;  ///< [D]
};

struct Weights {
  WeightView cls_token;       ///< [1, 1, D]
  WeightView pos_embed;       ///< [1, T, D] of config.image_size, the class token's position first
  LinearWeights patch_embed;  ///< [D, C, P, P]
  std::vector<BlockWeights> blocks;
  NormWeights norm;
  LinearWeights pooler;
  LinearWeights head;  ///< [K, feature_size]

  std::shared_ptr<const void> storage;  ///< keeps the memory behind the views alive
  /// Gives pages of mapped files back to the system, where the views lie in such; they return when they are
  /// read again. May be empty. Whoever has read a part of the weights and goes on to the next calls it.
  std::function<void()> release_pages;
};

/// One row of the table.
struct TensorSpec {
  std::string name;  ///< canonical name, as timm calls it: "blocks.3.attn.qkv.weight"
  Shape shape;       ///< expected
};

/// Calls visit(const TensorSpec&, WeightView&) for every tensor that a network of this config has, in the
/// order of the forward pass. THE table: loader, saver, exporter, info and tests all walk it. Resizes
/// weights.blocks to L.
template <class Visit>
void for_each_tensor(const ModelConfig& config, Weights& weights, Visit&& visit);

/// The same without weights: the whole table.
std::vector<TensorSpec> tensor_table(const ModelConfig& config);

/// Sum of the elements of the table.
std::int64_t parameter_count(const ModelConfig& config);

/// Weights of the right shapes with reproducible pseudo-random values (σ = 0.02, norms near 1), for
/// benchmarks and tests.
Weights random_weights(const ModelConfig& config, std::uint64_t seed);

// ------------------------------------------------------------------------------------------------

template <class Visit>
void for_each_tensor(const ModelConfig& config, Weights& weights, Visit&& visit) {
  const std::int64_t D = config.hidden_size;
  const std::int64_t F = config.mlp_size;
  const auto tensor = [&](const std::string& name, Shape shape, WeightView& view) {
    visit(TensorSpec{name, std::move(shape)}, view);
  };
  const auto linear = [&](const std::string& name, Shape shape, bool bias, LinearWeights& to) {
    const std::int64_t out = shape.front();
    tensor(name + ".weight", std::move(shape), to.weight);
    if (bias) tensor(name + ".bias", {out}, to.bias);
  };
  const auto norm = [&](const std::string& name, NormWeights& to) {
    tensor(name + ".weight", {D}, to.weight);
    tensor(name + ".bias", {D}, to.bias);
  };

  tensor("cls_token", {1, 1, D}, weights.cls_token);
  tensor("pos_embed", {1, config.num_tokens(config.image_size), D}, weights.pos_embed);
  linear("patch_embed.proj", {D, config.num_channels, config.patch_size.height, config.patch_size.width},
         true, weights.patch_embed);
  weights.blocks.resize(static_cast<std::size_t>(config.num_layers));
  for (std::size_t i = 0; i < weights.blocks.size(); ++i) {
    BlockWeights& block = weights.blocks[i];
    const std::string prefix = "blocks." + std::to_string(i) + ".";
    norm(prefix + "norm1", block.norm1);
    linear(prefix + "attn.qkv", {3 * D, D}, config.qkv_bias, block.qkv);
    linear(prefix + "attn.proj", {D, D}, true, block.proj);
    if (config.layer_scale) tensor(prefix + "ls1.gamma", {D}, block.layer_scale1);
    norm(prefix + "norm2", block.norm2);
    linear(prefix + "mlp.fc1", {F, D}, true, block.fc1);
    linear(prefix + "mlp.fc2", {D, F}, true, block.fc2);
    if (config.layer_scale) tensor(prefix + "ls2.gamma", {D}, block.layer_scale2);
  }
  norm("norm", weights.norm);
  if (config.pooler_size > 0) linear("pooler.dense", {config.pooler_size, D}, true, weights.pooler);
  if (config.num_classes > 0) linear("head", {config.num_classes, config.feature_size()}, true, weights.head);
}

}  // namespace vit
