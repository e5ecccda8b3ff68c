// One encoder block (Dosovitskiy et al. 2021, equations 2 and 3, and its relatives: BlockForm). Internal to
// vit/.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vit/attention_positions.hpp"
#include "vit/backend/attention.hpp"
#include "vit/backend/head_norm.hpp"
#include "vit/block_lane.hpp"
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
///
/// Each thread has a lane of rows to itself for everything but attention: what a layer writes is in the cache
/// of the core that reads it, and threads wait for each other twice a block. Where there are more threads
/// than rows can feed, there is one lane, and they share each of its products.
class EncoderBlock {
 public:
  /// On the threads of the current ThreadScope. `positions` are referred to.
  EncoderBlock(const ModelConfig& config, const PackedBlock& like, const AttentionPositions& positions,
               const BlockShape& shape);

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

  /// workspace.qkv [B, T, 3, h, d] -> workspace.context [B, T, h, d]
  void attend(const PackedBlock& weights, std::int64_t index, Workspace& workspace);
  /// qkv [B, T, 3, h, d]: what becomes of q and k in place before they meet.
  void prepare_heads(const PackedBlock& weights, std::int64_t index, Values qkv) const;
  void show_maps(std::int64_t index, const Workspace& workspace, Observer* observer) const;
  /// body(lane) on each lane's thread; returns when all are done.
  template <class Body>
  void on_lanes(Workspace& workspace, Body body);

  const AttentionPositions& positions_;
  BlockForm form_;
  std::int64_t width_;              // D
  backend::HeadRows query_rows_;    // of q or k in qkv, all images
  backend::HeadRows context_rows_;  // heads of the context
  backend::RotaryShape rotary_shape_;
  RotaryLayout rotary_layout_;
  backend::NormFormula formula_;
  std::vector<std::unique_ptr<BlockLane>> lanes_;
  backend::Attention attention_;
};

}  // namespace vit
