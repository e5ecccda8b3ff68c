// The tensors of a network: typed members, and the one table of names and shapes that everybody walks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
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
  /// Of i8, never transposed: what the integers of each of its rows are multiplied by.
  const float* row_scales = nullptr;
};

/// A tensor in its storage: one or more parts, one after the other along the first axis (q, k and v of
/// checkpoints that keep them apart). Nothing is copied until copy_to.
struct WeightView {
  Shape shape;
  std::vector<WeightPart> parts;

  bool empty() const { return parts.empty(); }
  std::int64_t size() const { return element_count(shape); }
  /// Elements of a row: of what one index of the first axis holds.
  std::int64_t row_size() const;
  /// Widens to f32; of i8, the numbers that the integers stand for. `dst` has room for size() elements.
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

  /// The layer that gives outputs [first, first + count) of this one.
  LinearWeights rows(std::int64_t first, std::int64_t count) const;
};

struct NormWeights {
  WeightView weight;  ///< γ [D]
  WeightView bias;    ///< β [D], empty of RMS norms
};

struct BlockWeights {
  NormWeights norm1;
  LinearWeights qkv;              ///< [3 D, D], rows q then k then v
  LinearWeights q;                ///< [D, D], where heads share k and v: in place of qkv
  LinearWeights kv;               ///< [2 kv_heads d, D], rows k then v
  WeightView q_bias;              ///< [D], without a key bias: in place of qkv's
  WeightView v_bias;              ///< [D]
  NormWeights q_norm;             ///< [query size]
  NormWeights k_norm;             ///< [query size]
  WeightView relative_positions;  ///< [(2 rows − 1)(2 columns − 1) + 3, h] of config.image_size
  WeightView lambda_q1;           ///< [d/2], of differential attention
  WeightView lambda_k1;           ///< [d/2]
  WeightView lambda_q2;           ///< [d/2]
  WeightView lambda_k2;           ///< [d/2]
  NormWeights sub_norm;           ///< [d], over each head of its context
  NormWeights attn_norm;          ///< [D]
  LinearWeights proj;             ///< [D, D]
  WeightView layer_scale1;        ///< [D]
  NormWeights norm2;              ///< not of a parallel block
  LinearWeights fc1;              ///< [F, D]; of a gated MLP [2 F, D], rows of the gate first
  NormWeights mlp_norm;           ///< [F]
  LinearWeights fc2;              ///< [D, F]
  LinearWeights out_proj;         ///< [D, D + F], of a fused parallel block: in place of proj and fc2
  WeightView layer_scale2;        ///< [D]
};

/// Attention pooling: one learned query over the tokens, then an MLP with a residual connection.
struct AttentionPoolWeights {
  WeightView latent;   ///< [1, 1, D]
  LinearWeights q;     ///< [D, D]
  LinearWeights kv;    ///< [2 D, D], rows k then v
  LinearWeights proj;  ///< [D, D]
  NormWeights norm;
  LinearWeights fc1;  ///< [pool MLP size, D]
  LinearWeights fc2;  ///< [D, pool MLP size]
};

struct Weights {
  WeightView cls_token;       ///< [1, 1, D]
  WeightView dist_token;      ///< [1, 1, D]
  WeightView reg_token;       ///< [1, registers, D]
  WeightView pos_embed;       ///< [1, prefix positions + N, D] of config.image_size
  LinearWeights patch_embed;  ///< [D, C, P, P]
  NormWeights embed_norm;
  NormWeights norm_pre;
  WeightView relative_positions;  ///< as a block's, for all of them
  WeightView rotary_frequencies;  ///< [2, L, h, d/2], of mixed rotary positions
  std::vector<BlockWeights> blocks;
  std::vector<BlockWeights> twins;  ///< what stands beside each of them in twin blocks, else none
  NormWeights norm;                 ///< the final one, wherever it stands
  AttentionPoolWeights attn_pool;
  LinearWeights pre_logits;
  LinearWeights pooler;
  LinearWeights head;       ///< [K, feature_size]
  LinearWeights head_dist;  ///< [K, D]

  std::shared_ptr<const void> storage;  ///< keeps the memory behind the views alive
  /// Gives pages of mapped files back to the system, where the views lie in such; they return when they are
  /// read again. May be empty. Whoever has read a part of the weights and goes on to the next calls it.
  std::function<void()> release_pages;
  /// The same of a part of the views' memory alone, for those who share out the work. May be empty.
  std::function<void(std::span<const std::byte>)> release_part;
};

/// One row of the table.
struct TensorSpec {
  std::string name;  ///< canonical name, as timm calls it: "blocks.3.attn.qkv.weight"
  Shape shape;       ///< expected
};

/// q, k and v as every other block has them, [3 D, D]: heads of k and v that serve several of q are repeated.
/// Refers to the same memory. Of a block whose heads share nothing it is its qkv.
LinearWeights ungrouped_qkv(const ModelConfig& config, const BlockWeights& block);

/// What λ of differential attention starts from in a block: 0.8 − 0.6 exp(−0.3 i).
double initial_lambda(std::int64_t block);

/// Calls visit(const TensorSpec&, WeightView&) for every tensor that a network of this config has, in the
/// order of the forward pass. THE table: loader, saver, exporter, info and tests all walk it. Resizes
/// weights.blocks to L, and twins to L or 0.
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

namespace detail {

/// Gives the tensors of a layer to a visitor.
template <class Visit>
struct TensorWalk {
  const ModelConfig& config;
  Visit& visit;

  void tensor(const std::string& name, Shape shape, WeightView& view) const {
    visit(TensorSpec{name, std::move(shape)}, view);
  }
  void linear(const std::string& name, Shape shape, bool bias, LinearWeights& to) const {
    const std::int64_t out = shape.front();
    tensor(name + ".weight", std::move(shape), to.weight);
    if (bias) tensor(name + ".bias", {out}, to.bias);
  }
  void norm(const std::string& name, std::int64_t size, NormWeights& to) const {
    tensor(name + ".weight", {size}, to.weight);
    if (config.norm == NormKind::layer) tensor(name + ".bias", {size}, to.bias);
  }

  void embeddings(Weights& weights) const {
    const std::int64_t D = config.hidden_size;
    const std::int64_t positions = config.num_prefix_positions() + config.num_patches(config.image_size);
    if (config.class_token) tensor("cls_token", {1, 1, D}, weights.cls_token);
    if (config.distillation != Distillation::none) tensor("dist_token", {1, 1, D}, weights.dist_token);
    if (config.num_registers > 0) tensor("reg_token", {1, config.num_registers, D}, weights.reg_token);
    if (config.position_embedding != PositionEmbedding::none)
      tensor("pos_embed", {1, positions, D}, weights.pos_embed);
    linear("patch_embed.proj", {D, config.num_channels, config.patch_size.height, config.patch_size.width},
           config.patch_bias, weights.patch_embed);
    if (config.embed_norm) norm("patch_embed.norm", D, weights.embed_norm);
    if (config.pre_norm) norm("norm_pre", D, weights.norm_pre);
    if (config.relative_positions == RelativePositions::shared ||
        config.relative_positions == RelativePositions::both)
      tensor("rel_pos_bias.relative_position_bias_table", {config.num_relative_positions(), config.num_heads},
             weights.relative_positions);
    if (config.rotary == RotaryEmbedding::mixed)
      tensor("rope.freqs", {2, config.num_layers, config.num_heads, config.head_size() / 2},
             weights.rotary_frequencies);
  }

  void projections(const std::string& prefix, std::int64_t index, BlockWeights& block) const {
    const std::int64_t D = config.hidden_size;
    if (config.is_grouped(index)) {
      linear(prefix + "q", {D, D}, config.qkv_bias, block.q);
      linear(prefix + "kv", {2 * config.num_kv_heads * config.head_size(), D}, config.qkv_bias, block.kv);
    } else {
      linear(prefix + "qkv", {3 * D, D}, config.qkv_bias && config.key_bias, block.qkv);
    }
    if (!config.key_bias) tensor(prefix + "q_bias", {D}, block.q_bias);
    if (!config.key_bias) tensor(prefix + "v_bias", {D}, block.v_bias);
    if (config.qk_norm) norm(prefix + "q_norm", config.query_size(), block.q_norm);
    if (config.qk_norm) norm(prefix + "k_norm", config.query_size(), block.k_norm);
  }

  void differences(const std::string& prefix, BlockWeights& block) const {
    const std::int64_t size = config.query_size();
    tensor(prefix + "lambda_q1", {size}, block.lambda_q1);
    tensor(prefix + "lambda_k1", {size}, block.lambda_k1);
    tensor(prefix + "lambda_q2", {size}, block.lambda_q2);
    tensor(prefix + "lambda_k2", {size}, block.lambda_k2);
    tensor(prefix + "sub_norm.weight", {config.head_size()}, block.sub_norm.weight);
  }

  void attention(const std::string& prefix, std::int64_t index, BlockWeights& block) const {
    const std::int64_t D = config.hidden_size;
    projections(prefix, index, block);
    if (config.relative_positions == RelativePositions::per_block ||
        config.relative_positions == RelativePositions::both)
      tensor(prefix + "relative_position_bias_table", {config.num_relative_positions(), config.num_heads},
             block.relative_positions);
    if (config.attention == AttentionForm::differential) differences(prefix, block);
    if (config.attn_norm) norm(prefix + "norm", D, block.attn_norm);
    if (config.block != BlockForm::parallel_fused)
      linear(prefix + "proj", {D, D}, config.proj_bias, block.proj);
  }

  void block(const std::string& prefix, std::int64_t index, BlockWeights& block) const {
    const std::int64_t D = config.hidden_size;
    const std::int64_t F = config.mlp_size;
    norm(prefix + "norm1", D, block.norm1);
    attention(prefix + "attn.", index, block);
    if (config.layer_scale) tensor(prefix + "ls1.gamma", {D}, block.layer_scale1);
    if (!config.is_parallel()) norm(prefix + "norm2", D, block.norm2);
    linear(prefix + "mlp.fc1", {config.mlp == Mlp::gated ? 2 * F : F, D},
           config.proj_bias || config.is_parallel(), block.fc1);
    if (config.mlp_norm) norm(prefix + "mlp.norm", F, block.mlp_norm);
    if (config.block != BlockForm::parallel_fused) {
      linear(prefix + "mlp.fc2", {D, F}, config.proj_bias, block.fc2);
    } else {
      linear(prefix + "out_proj", {D, D + F}, config.proj_bias, block.out_proj);
    }
    if (config.layer_scale && config.mlp_layer_scale && !config.is_parallel())
      tensor(prefix + "ls2.gamma", {D}, block.layer_scale2);
  }

  void attention_pool(AttentionPoolWeights& pool) const {
    const std::int64_t D = config.hidden_size;
    tensor("attn_pool.latent", {1, 1, D}, pool.latent);
    linear("attn_pool.q", {D, D}, true, pool.q);
    linear("attn_pool.kv", {2 * D, D}, true, pool.kv);
    linear("attn_pool.proj", {D, D}, true, pool.proj);
    norm("attn_pool.norm", D, pool.norm);
    linear("attn_pool.mlp.fc1", {config.pool_mlp_size(), D}, true, pool.fc1);
    linear("attn_pool.mlp.fc2", {D, config.pool_mlp_size()}, true, pool.fc2);
  }
};

}  // namespace detail

template <class Visit>
void for_each_tensor(const ModelConfig& config, Weights& weights, Visit&& visit) {
  const detail::TensorWalk<Visit> walk{config, visit};
  const std::int64_t D = config.hidden_size;
  walk.embeddings(weights);
  weights.blocks.resize(static_cast<std::size_t>(config.num_layers));
  weights.twins.resize(config.block == BlockForm::twin ? weights.blocks.size() : 0);
  for (std::size_t i = 0; i < weights.blocks.size(); ++i) {
    const std::string prefix = "blocks." + std::to_string(i) + ".";
    const auto index = static_cast<std::int64_t>(i);
    walk.block(prefix, index, weights.blocks[i]);
    if (config.block == BlockForm::twin) walk.block(prefix + "twin.", index, weights.twins[i]);
  }
  if (config.final_norm == FinalNorm::before_pooling) walk.norm("norm", D, weights.norm);
  if (config.pooling == Pooling::attention) walk.attention_pool(weights.attn_pool);
  if (config.final_norm == FinalNorm::after_pooling) walk.norm("fc_norm", D, weights.norm);
  if (config.pooler_size > 0) walk.linear("pooler.dense", {config.pooler_size, D}, true, weights.pooler);
  if (config.pre_logits_size > 0)
    walk.linear("pre_logits", {config.pre_logits_size, config.feature_size()}, true, weights.pre_logits);
  if (config.num_classes > 0)
    walk.linear("head", {config.num_classes, config.head_input_size()}, true, weights.head);
  if (config.distillation == Distillation::head)
    walk.linear("head_dist", {config.num_classes, D}, true, weights.head_dist);
}

}  // namespace vit
