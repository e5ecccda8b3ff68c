// One encoder block (Dosovitskiy et al. 2021, equations 2 and 3, and its relatives: BlockForm). Internal to
// vit/.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vit/attention_positions.hpp"
#include "vit/backend/attention.hpp"
#include "vit/backend/head_norm.hpp"
#include "vit/block_lanes.hpp"
#include "vit/observer.hpp"
#include "vit/packed_model.hpp"
#include "vit/token_merging.hpp"
#include "vit/workspace.hpp"

namespace vit {

struct BlockShape {
  std::int64_t batch;
  std::int64_t tokens;  ///< T
  std::int64_t merged;  ///< tokens that are fewer behind it
  BlockTypes types;

  std::int64_t rows() const { return batch * tokens; }
};

/// For the tokens that attention works on, and for those that are left to the MLP: the same where none are
/// merged.
struct BlockLaneSets {
  std::shared_ptr<BlockLanes> attention;
  std::shared_ptr<BlockLanes> mlp;
};

/// The kernels of a block. All blocks of a model that work on as many tokens have the same shapes, so one of
/// these serves them all.
class EncoderBlock {
 public:
  /// On the threads of the current ThreadScope. `positions` are referred to.
  EncoderBlock(const ModelConfig& config, const AttentionPositions& positions, const BlockShape& shape,
               BlockLaneSets lanes);

  /// workspace.hidden_states [B, T, D] -> [B, T − merged, D] by block `index`, in place where none are
  /// merged.
  void forward(const Model::Packed& model, std::int64_t index, Workspace& workspace, Observer* observer);

  std::vector<std::string> kernels() const;

 private:
  // One for each BlockForm.
  void pre_norm(const PackedBlock& weights, std::int64_t index, Workspace& workspace, Observer* observer);
  void post_norm(const PackedBlock& weights, std::int64_t index, Workspace& workspace, Observer* observer);
  void parallel(const PackedBlock& weights, std::int64_t index, Workspace& workspace, Observer* observer);
  void twin(const PackedBlock& first, const PackedBlock& second, std::int64_t index, Workspace& workspace,
            Observer* observer);

  /// workspace.qkv [B, T, 3, h, d] -> workspace.context [B, T, h, d]
  void attend(const PackedBlock& weights, std::int64_t index, Workspace& workspace);
  /// qkv [B, T, 3, h, d]: what becomes of q and k in place before they meet.
  void prepare_heads(const PackedBlock& weights, std::int64_t index, Values qkv) const;
  void show_maps(std::int64_t index, const Workspace& workspace, Observer* observer) const;
  /// attention(lane) and mlp(lane) of every lane: what adds the one's branch to the residual stream, and all
  /// behind it. In between tokens are merged.
  template <class Attention, class Mlp>
  void finish(Workspace& workspace, Attention attention, Mlp mlp);

  const AttentionPositions& positions_;
  BlockForm form_;
  std::int64_t width_;              // D
  backend::HeadRows query_rows_;    // of q or k in qkv, all images
  backend::HeadRows context_rows_;  // heads of the context
  backend::RotaryShape rotary_shape_;
  RotaryLayout rotary_layout_;
  backend::NormFormula formula_;
  BlockLaneSets lanes_;
  backend::Attention attention_;
  std::optional<TokenMerging> merging_;
};

}  // namespace vit
