// A look inside the forward pass: hidden states and attention maps, as they come by.
#pragma once

#include <cstdint>

#include "vit/tensor.hpp"

namespace vit {

/// Boundaries between the stages of the forward pass, in the order in which they are reached.
enum class Stage {
  embeddings,         ///< tokens + positions, normed if so, into the first block      [B, T, D]
  attention_probs,    ///< softmax(q kᵀ / √d) of a block                              [B, h, T, T]
  block,              ///< output of a block, before any final norm                   [B, T, D]
  last_hidden_state,  ///< after the final layer norm, if it comes before the pooling [B, T, D]
  features,           ///< what the head is given, or a headless model's answer       [B, feature size]
  logits,             ///< [B, K]
};

class Observer {
 public:
  virtual ~Observer() = default;

  /// `block` is 0 … L−1 for attention_probs and block, −1 elsewhere. The view is valid during the call only.
  /// attention_probs come only from a Session with attention_maps.
  virtual void on_stage(Stage stage, std::int64_t block, const ConstTensorView& tensor) = 0;
};

}  // namespace vit
