// One encoder block (Dosovitskiy et al. 2021, equations 2 and 3, and its relatives: BlockForm). Internal to
// vit/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vit/attention_positions.hpp"
#include "vit/backend/attention.hpp"
#include "vit/backend/head_norm.hpp"
#include "vit/backend/linear.hpp"
#include "vit/backend/norm.hpp"
#include "vit/observer.hpp"
#include "vit/packed_model.hpp"
#include "vit/workspace.hpp"

namespace vit {

struct BlockShape {
  std::int64_t batch;
  std::int64_t tokens;  ///< T
  BlockTypes types;

  std::int64_t rows() const { return batch * tokens; }
};

/// The kernels of a block. All blocks of a model have the same shapes, so one of these serves them all.
class EncoderBlock {
 public:
  /// `positions` are referred to.
  EncoderBlock(backend::Context& context, const ModelConfig& config, const PackedBlock& like,
               const AttentionPositions& positions, const BlockShape& shape);

  /// workspace.hidden_states [B, T, D] in place, by block `index`.
  void forward(const Model::Packed& model, std::int64_t index, Workspace& workspace, Observer* observer);

  std::vector<std::string> kernels() const;

 private:
  // One for each BlockForm.
  void pre_norm(const PackedBlock& weights, std::int64_t index, Workspace& workspace, Observer* observer);
  void post_norm(const PackedBlock& weights, std::int64_t index, Workspace& workspace, Observer* observer);
  void parallel(const PackedBlock& weights, std::int64_t index, Workspace& workspace, Observer* observer);
  void twin(const PackedBlock& first, const PackedBlock& second, std::int64_t index, Workspace& workspace,
            Observer* observer);

  /// src [B, T, D] -> workspace.context [B, T, D], what proj reads.
  void attend(const PackedBlock& weights, ConstValues src, std::int64_t index, Workspace& workspace);
  /// src [B, T, D] -> workspace.mlp [B, T, F], what fc2 reads.
  void expand(const PackedBlock& weights, ConstValues src, Workspace& workspace);
  /// qkv [B, T, 3, h, d]: what becomes of q and k in place before they meet.
  void prepare_heads(const PackedBlock& weights, std::int64_t index, Values values) const;
  void show_maps(std::int64_t index, const Workspace& workspace, Observer* observer) const;

  const AttentionPositions& positions_;
  BlockForm form_;
  std::int64_t width_;              // D
  backend::HeadRows query_rows_;    // of q or k in qkv, all images
  backend::HeadRows context_rows_;  // heads of the context
  backend::RotaryShape rotary_shape_;
  RotaryLayout rotary_layout_;
  backend::NormFormula formula_;
  backend::Norm norm_;
  std::optional<backend::Norm> attn_norm_;
  backend::Linear qkv_;
  backend::Attention attention_;
  backend::Linear proj_;
  std::optional<backend::Linear> gate_;
  backend::Linear fc1_;
  std::optional<backend::Norm> mlp_norm_;
  backend::Linear fc2_;
};

}  // namespace vit
