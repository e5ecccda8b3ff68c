// Every buffer of a forward pass, sized once from the config. Internal to vit/.
#pragma once

#include "vit/config.hpp"
#include "vit/profile.hpp"
#include "vit/tensor.hpp"

namespace vit {

struct Workspace {
  Workspace(const ModelConfig& config, std::int64_t B, std::int64_t T);

  Tensor hidden_states;        ///< [B, T, D], the residual stream
  Tensor normed;               ///< [B, T, D], after a layer norm; in the end last_hidden_state
  Tensor twin_normed;          ///< [B, T, D], of a block's second half where it has twins
  Tensor qkv;                  ///< [B, T, 3, h, d]
  Tensor scores;               ///< one tile of one image, or all of [B, h, T, T] where maps are kept
  Tensor context;              ///< [B, T, h, d]
  Tensor mlp;                  ///< [B, T, F]
  Tensor gate;                 ///< [B, T, F], of a gated MLP
  Tensor pooled;               ///< [B, feature size], the head's input
  Tensor pool_context;         ///< [B, h, d], of attention pooling; then its normed vector [B, D]
  Tensor pool_mlp;             ///< [B, pool MLP size]
  Tensor distilled;            ///< [B, D], the distillation token: its head's input
  Tensor pre_logits;           ///< [B, pre-logits size]
  Tensor pooler_output;        ///< [B, pooler size]
  Tensor logits;               ///< [B, K]
  Tensor cls_logits;           ///< [B, K], of the class token's head where there are two
  Tensor distillation_logits;  ///< [B, K]

  ConstTensorView hidden_view;  ///< of hidden_states, made once: a Shape is a heap allocation
  ConstTensorView maps_view;    ///< of scores as [B, h, T, T]

  Profile* profile = nullptr;  ///< what the stages tell their time, or nothing
};

}  // namespace vit
