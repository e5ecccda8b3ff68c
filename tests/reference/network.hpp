// The whole network in double precision, every stage kept.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/reference/array.hpp"
#include "vit/config.hpp"
#include "vit/weights.hpp"

namespace vit::reference {

/// Tensors by their canonical names ("blocks.3.attn.qkv.weight"), widened to double.
using Parameters = std::map<std::string, Array>;

Parameters parameters(const ModelConfig& config, Weights& weights);

/// What vit::Observer is shown, in its shapes.
struct Stages {
  Array embeddings;
  std::vector<Array> attention_probs;
  std::vector<Array> blocks;
  Array last_hidden_state;
  Array features;
  Array logits;  ///< empty without a head
};

/// Changes an intermediate result as it is stored, the way that storing it in fewer bits would.
using Rounding = std::function<void(Array&)>;

struct ForwardOptions {
  /// Is given every result of a layer before the next layer reads it: with one that shakes the last bit of a
  /// float this shows how far float32 arithmetic can be off (stochastic arithmetic, Vignes 1993).
  Rounding rounding = [](Array&) {};
  std::int64_t merge = 0;  ///< tokens that every block merges
};

/// pixel_values [B, C, H, W]
Stages forward(const ModelConfig& config, const Parameters& parameters, const Array& pixel_values,
               const ForwardOptions& options = {});

}  // namespace vit::reference
