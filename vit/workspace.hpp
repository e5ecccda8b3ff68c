// Every buffer of a forward pass, sized once from the config. Internal to vit/.
#pragma once

#include <array>
#include <cstddef>

#include "vit/block_types.hpp"
#include "vit/config.hpp"
#include "vit/profile.hpp"
#include "vit/tensor.hpp"
#include "vit/token_merging.hpp"
#include "vit/values.hpp"

namespace vit {

struct Workspace {
  struct Options {
    std::int64_t batch = 0;   ///< B
    std::int64_t tokens = 0;  ///< T
    std::int64_t merged = 0;  ///< of them in the first block; 0: none anywhere
    bool attention_maps = false;
  };

  Workspace(const ModelConfig& config, const BlockTypes& types, const Options& options);

  /// A forward pass begins: all tokens are there, each of size 1.
  void take_all_tokens();
  /// The residual stream goes on with fewer tokens, in other memory.
  void merge_tokens(const TokenMerging& merging);
  /// [B, T]: how many patches each token stands for; null where none are merged.
  const float* sizes() const { return streams_[current_].sizes; }

  LargeMemoryPool memory;      ///< of the large buffers
  TensorView hidden_states;    ///< [B, T, D], the residual stream; T and data change where tokens are merged
  ValueBuffer normed;          ///< [B, T, D], after a norm
  ValueBuffer twin_normed;     ///< [B, T, D], of a block's second half where it has twins
  ValueBuffer qkv;             ///< [B, T, 3, h, d]
  Tensor maps;                 ///< [B, h, T, T] where they are kept
  ValueBuffer context;         ///< [B, T, h, d]
  ValueBuffer mlp;             ///< [B, T, F]
  ValueBuffer gate;            ///< [B, T, F], of a gated MLP
  Tensor pool_kv;              ///< [B, T, 2, h, d], of attention pooling
  Tensor pooled;               ///< [B, feature size], the head's input
  Tensor pool_context;         ///< [B, h, d], of attention pooling; then its normed vector [B, D]
  Tensor pool_mlp;             ///< [B, pool MLP size]
  Tensor distilled;            ///< [B, D], the distillation token: its head's input
  Tensor pre_logits;           ///< [B, pre-logits size]
  Tensor pooler_output;        ///< [B, pooler size]
  Tensor logits;               ///< [B, K]
  Tensor cls_logits;           ///< [B, K], of the class token's head where there are two
  Tensor distillation_logits;  ///< [B, K]

  ConstTensorView hidden_view;  ///< of hidden_states, kept: a Shape is a heap allocation
  ConstTensorView maps_view;    ///< of maps

  Profile* profile = nullptr;  ///< what the stages tell their time, or nothing

 private:
  void go_on(std::size_t stream, std::int64_t tokens);

  std::int64_t all_tokens_;
  std::array<TokenStream, 2> streams_;  // to merge from one into the other
  std::size_t current_ = 0;
  Tensor sizes_;  // [2, B, T], theirs
  MergeBuffers merge_buffers_;
};

}  // namespace vit
