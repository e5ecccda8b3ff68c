// The encoder blocks of a network, one behind the other. Internal to vit/.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vit/block_lanes.hpp"
#include "vit/encoder_block.hpp"

namespace vit {

struct EncoderShape {
  std::int64_t batch;
  std::vector<std::int64_t> tokens;  ///< T in front of each block and behind the last: token_counts()
  BlockTypes types;
};

/// Kernels are made once for each number of tokens.
class Encoder {
 public:
  /// On the threads of the current ThreadScope. `positions` are referred to.
  Encoder(const ModelConfig& config, const PackedBlock& like, const AttentionPositions& positions,
          const EncoderShape& shape);

  /// workspace.hidden_states [B, T, D] through all blocks; behind them there may be fewer tokens.
  void forward(const Model::Packed& model, Workspace& workspace, Observer* observer);

  /// Of the first block.
  std::vector<std::string> kernels() const { return blocks_.front()->kernels(); }

 private:
  BlockLanes::Contexts contexts_;
  std::vector<std::shared_ptr<EncoderBlock>> blocks_;  // [L], the same one where T is the same
};

}  // namespace vit
