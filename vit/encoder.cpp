#include "vit/encoder.hpp"

namespace vit {

Encoder::Encoder(const ModelConfig& config, const PackedBlock& like, const AttentionPositions& positions,
                 const EncoderShape& shape) {
  const std::vector<std::int64_t>& T = shape.tokens;
  const auto lanes_for = [&](std::int64_t tokens) {
    return std::make_shared<BlockLanes>(config, like, shape.types, shape.batch * tokens, contexts_);
  };
  std::shared_ptr<BlockLanes> lanes = lanes_for(T.front());
  for (std::size_t i = 0; i + 1 < T.size(); ++i) {
    if (i > 0 && T[i] == T[i - 1] && T[i + 1] == T[i]) {
      blocks_.push_back(blocks_.back());
      continue;
    }
    const BlockLaneSets sets{lanes, T[i + 1] == T[i] ? lanes : lanes_for(T[i + 1])};
    blocks_.push_back(std::make_shared<EncoderBlock>(
        config, positions, BlockShape{shape.batch, T[i], T[i] - T[i + 1], shape.types}, sets));
    lanes = sets.mlp;
  }
}

void Encoder::forward(const Model::Packed& model, Workspace& workspace, Observer* observer) {
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    blocks_[i]->forward(model, static_cast<std::int64_t>(i), workspace, observer);
}

}  // namespace vit
