// The layers of an encoder block on some of its rows: all but attention treat each token by itself. Internal
// to vit/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vit/backend/context.hpp"
#include "vit/backend/linear.hpp"
#include "vit/backend/norm.hpp"
#include "vit/block_types.hpp"
#include "vit/packed_model.hpp"
#include "vit/profile.hpp"
#include "vit/workspace.hpp"

namespace vit {

/// Rows of [B T, …] buffers.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Works on its rows of the buffers, which are handed over whole. Belongs to one thread at a time.
class BlockLane {
 public:
  /// All blocks of the model have the shapes of `like`. `context` outlives the lane.
  BlockLane(const ModelConfig& config, const PackedBlock& like, const BlockTypes& types, RowRange rows,
            backend::Context& context);

  /// dst = Norm(x)
  void norm(const float* x, const backend::NormParameters& parameters, Values dst);
  /// qkv = src Wqkvᵀ + b
  void project_heads(const PackedBlock& weights, ConstValues src, Workspace& workspace);
  /// dst = [dst +] Norm(context) Wprojᵀ + b; what is in brackets unless a norm ends the branch, and the norm
  /// where there is one
  void project_context(const PackedBlock& weights, Workspace& workspace, float* dst);
  /// mlp = Norm(act(src W1ᵀ + b1)) or, with a gate, Norm(act(src Wgᵀ + bg) ⊙ (src Wuᵀ + bu))
  void expand(const PackedBlock& weights, ConstValues src, Workspace& workspace);
  /// dst = [dst +] mlp W2ᵀ + b2
  void contract(const PackedBlock& weights, Workspace& workspace, float* dst);
  /// x = x + branch
  void add(const float* branch, float* x) const;

  std::vector<std::string> kernels() const;

 private:
  /// Of the profile that the first lane, which the calling thread runs, stands for.
  void lap(Workspace& workspace, LayerKind kind) const {
    if (rows_.first == 0) vit::lap(workspace.profile, kind);
  }

  RowRange rows_;
  std::int64_t width_;      // D
  std::int64_t mlp_width_;  // F
  backend::Norm norm_;
  std::optional<backend::Norm> attn_norm_;
  backend::Linear qkv_;
  backend::Linear proj_;
  std::optional<backend::Linear> gate_;
  backend::Linear fc1_;
  std::optional<backend::Norm> mlp_norm_;
  backend::Linear fc2_;
};

}  // namespace vit
