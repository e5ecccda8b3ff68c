// The stages of a network as nodes, in the order in which vit_graph calls them; each takes the name of a
// value and returns that of its result. Internal to export/.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "export/graph_builder.hpp"
#include "export/vit_graph.hpp"
#include "export/weight_storage.hpp"

namespace vit::exporter {

class VitEmitter {
 public:
  /// `options` have no defaults left. Both references must outlive the emitter, not the graph.
  VitEmitter(const ModelConfig& config, const Weights& weights, GraphOptions options,
             std::int64_t ir_version);

  // Stages: emit_stages.cpp
  std::string pixel_values();                                ///< [batch, C, H, W], normalised
  std::string patch_embed(const std::string& pixel_values);  ///< [batch, N, D]
  std::string embeddings(const std::string& patches);        ///< [batch, T, D], prefix tokens and positions
  std::string block(std::int64_t index, const std::string& x);   ///< [batch, T, D]
  std::string final_norm(const std::string& x);                  ///< [batch, T, D]
  std::string features(const std::string& x);                    ///< [batch, feature size]
  void head(const std::string& features, const std::string& x);  ///< [batch, K]
  Graph finish();

 private:
  // Blocks by their form: emit_block.cpp.
  std::string pre_norm_block(std::int64_t index, const std::string& x);
  std::string post_norm_block(std::int64_t index, const std::string& x);
  std::string parallel_block(std::int64_t index, const std::string& x);
  std::string twin_block(std::int64_t index, const std::string& x);

  // Parts of a block: emit_block.cpp, emit_attention.cpp. `name` is the block's: "blocks.3", or
  // "blocks.3.twin".
  std::string attention(const std::string& name, const std::string& x, std::int64_t index);
  /// What its projection reads.
  std::string attention_context(const std::string& name, const std::string& x, std::int64_t index);
  /// The weights behind such a name.
  const BlockWeights& weights_of(const std::string& name, std::int64_t index) const;
  std::vector<std::string> projections(const std::string& name, const std::string& x,
                                       const BlockWeights& weights);
  std::vector<std::string> prepared_heads(const std::string& name, const std::vector<std::string>& qkv,
                                          std::int64_t index);
  std::string softmax_attention(const std::string& name, const std::vector<std::string>& heads,
                                std::int64_t index);
  std::string gated(const std::string& name, const std::string& x, const BlockWeights& weights);
  /// softmax(q₁ k₁ᵀ) − λ softmax(q₂ k₂ᵀ), of the maps [batch, 2 h, T, T] of both.
  std::string map_difference(const std::string& name, const std::string& maps, std::int64_t index);
  std::string lambda(const std::string& name, const BlockWeights& weights, std::int64_t index);
  std::string sub_norm(const std::string& name, const std::string& context, std::int64_t index);
  std::string mlp(const std::string& name, const std::string& x, const BlockWeights& weights);
  /// What fc2 reads.
  std::string mlp_inner(const std::string& name, const std::string& x, const BlockWeights& weights);
  std::string rows_that_are_read(const std::string& module, const std::string& x, std::int64_t index);
  std::string add_branch(const std::string& module, const std::string& x, const std::string& branch,
                         const std::string& gamma_name, const WeightView& gamma);
  /// [batch, tokens, D] -> [batch, tokens, heads, D / heads]
  std::string split_heads(const std::string& module, const std::string& x, std::int64_t heads);
  std::string transpose(const std::string& module, const std::string& x, std::vector<std::int64_t> perm);
  /// [batch, h, tokens, d] -> [batch, tokens, D]
  std::string merge_heads(const std::string& module, const std::string& x);
  struct Queries {
    std::string name;  ///< [batch, heads, tokens, size]
    std::int64_t size;
  };
  /// q kᵀ / √size, kᵀ [batch, heads, size, tokens]
  std::string scaled_scores(const std::string& module, const Queries& q, const std::string& kt);
  std::string softmax(const std::string& module, const std::string& x);

  // Positions within attention: emit_positions.cpp
  /// Heads [batch, T, h, d] of a block, turned by the angles of their tokens.
  std::string rotated(const std::string& module, const std::string& heads, std::int64_t index);
  /// rotary_cosines_ and rotary_sines_ from fixed angles, or from the learned ones of a block.
  void fixed_rotation();
  void learned_rotation(std::int64_t index);
  /// [T, h, d/2] -> [T, h, d]: for both elements of each pair.
  std::string for_both(const std::string& module, const std::string& of_pairs);
  /// What is added to a block's scores [batch, h, T, T].
  std::string relative_bias(const std::string& name, std::int64_t index);
  std::string gathered_positions(const std::string& name, const Tensor& table);

  // Parts of the head: emit_stages.cpp
  std::string pool(const std::string& x);
  std::string token(const std::string& x, std::int64_t index);
  std::string patches(const std::string& x);
  std::string attention_pool(const std::string& x);

  // Layers: emit_layers.cpp. `weight` is a name in the table of vit/weights.hpp, without ".weight" where
  // there is a bias beside it.
  std::string norm(const std::string& module, const std::string& x, const std::string& weight,
                   const NormWeights& norm);
  std::string layer_norm(const std::string& module, const std::string& x, const std::string& weight,
                         const NormWeights& norm);
  std::string rms_norm(const std::string& module, const std::string& x, const std::string& gamma,
                       float epsilon);
  std::string linear(const std::string& module, const std::string& x, const std::string& weight,
                     const LinearWeights& linear);
  /// The same as one node, for a single row of each image: pooler and head.
  std::string gemm(const std::string& module, const std::string& x, const std::string& weight,
                   const LinearWeights& linear);
  std::string mean(const std::string& module, const std::string& x, std::int64_t axis, bool keep);
  std::string largest(const std::string& module, const std::string& x, std::int64_t axis);
  std::string laplace(const std::string& module, const std::string& x);
  std::string hard_sigmoid(const std::string& module, const std::string& x, float slope, float offset);
  std::string activation(const std::string& module, const std::string& x, Activation function);
  std::string gelu(const std::string& module, const std::string& x);
  std::string gelu_tanh(const std::string& module, const std::string& x);

  // Constants: emit_layers.cpp. All return the name of an f32 value.
  std::string vector(const std::string& name, const WeightView& weight);
  /// A weight of more than one dimension as it is; f16 in a file of fp16 weights.
  std::string table(const std::string& name, const StoredWeight& weight);
  /// [out, in], for Gemm.
  std::string matrix(const std::string& name, const WeightView& weight);
  /// [out, in] -> [in, out], for MatMul.
  std::string transposed(const std::string& name, const WeightView& weight);
  std::string widened(const std::string& name);
  std::string dequantized(const std::string& name, const StoredWeight& weight, std::int64_t axis);
  /// The value rounded to 8 bits and back, where the options give its range.
  std::string rounded(const std::string& value);

  bool wants(GraphOutput output) const;
  /// Makes the newest result an output if it is wanted; returns its name from now on.
  std::string publish(const std::string& value, GraphOutput output, std::vector<Dim> shape,
                      std::int64_t index = -1);
  StoredWeight stored(const WeightView& view) const {
    return {view, weights_.storage, weights_.release_pages};
  }
  std::int64_t num_tokens() const { return config_.num_tokens(options_.image_size); }

  const ModelConfig& config_;
  const Weights& weights_;
  GraphOptions options_;
  GraphBuilder builder_;
  Dim batch_;
  std::map<std::string, std::string> rounded_;  ///< value -> its bytes
  std::string shared_relative_bias_;            ///< of all blocks, once it is there
  std::int64_t rotary_block_ = -1;              ///< whose angles these are, where they are learned
  std::string rotary_cosines_;
  std::string rotary_sines_;
};

}  // namespace vit::exporter
