// One pre-norm encoder block (Dosovitskiy et al. 2021, equations 2 and 3). Internal to vit/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vit/attention_positions.hpp"
#include "vit/backend/attention.hpp"
#include "vit/backend/head_norm.hpp"
#include "vit/backend/layer_norm.hpp"
#include "vit/backend/linear.hpp"
#include "vit/observer.hpp"
#include "vit/packed_model.hpp"
#include "vit/workspace.hpp"

namespace vit {

/// The kernels of a block. All blocks of a model have the same shapes, so one of these serves them all.
class EncoderBlock {
 public:
  struct Options {
    std::int64_t batch = 0;
    std::int64_t tokens = 0;  ///< T
    bool attention_maps = false;
  };

  /// `positions` are referred to.
  EncoderBlock(backend::Context& context, const ModelConfig& config, const PackedBlock& like,
               const AttentionPositions& positions, const Options& options);

  /// workspace.hidden_states [B, T, D] in place.
  void forward(const PackedBlock& weights, std::int64_t index, Workspace& workspace, Observer* observer);

  std::int64_t scores_size() const { return attention_.scores_size(); }
  std::vector<std::string> kernels() const;

 private:
  /// qkv [B, T, 3, h, d]: what becomes of q and k in place before they meet.
  void prepare_heads(const PackedBlock& weights, float* qkv) const;

  const AttentionPositions& positions_;
  std::int64_t batch_;
  bool attention_maps_;
  backend::HeadRows head_rows_;  // of q or k in qkv, all images
  backend::RotaryShape rotary_shape_;
  RotaryLayout rotary_layout_;
  float epsilon_;
  backend::LayerNorm norm_;
  backend::Linear qkv_;
  backend::Attention attention_;
  backend::Linear proj_;
  std::optional<backend::Linear> gate_;
  backend::Linear fc1_;
  std::optional<backend::LayerNorm> mlp_norm_;
  backend::Linear fc2_;
};

}  // namespace vit
