// The rows of a batch, shared out to the lanes of an encoder block. Internal to vit/.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vit/backend/context.hpp"
#include "vit/block_lane.hpp"

namespace vit {

/// Each thread has a lane of rows to itself for everything but attention: what a layer writes is in the cache
/// of the core that reads it, and threads wait for each other twice a block. Where there are more threads
/// than rows can feed, there is one lane, and they share each of its products.
class BlockLanes {
 public:
  /// One for each lane; more are made where they are needed. Lanes that do not run at the same time may share
  /// them.
  using Contexts = std::vector<std::unique_ptr<backend::Context>>;

  /// On the threads of the current ThreadScope. `contexts` outlive the lanes.
  BlockLanes(const ModelConfig& config, const PackedBlock& like, const BlockTypes& types, std::int64_t rows,
             Contexts& contexts);

  /// body(lane) on each lane's thread; returns when all are done. Allocates nothing.
  template <class Body>
  void run(Workspace& workspace, Body body) {
    const auto call = [](void* of, BlockLane& lane) { (*static_cast<Body*>(of))(lane); };
    run_each(workspace, call, &body);
  }

  std::vector<std::string> kernels() const { return lanes_.front()->kernels(); }

 private:
  void run_each(Workspace& workspace, void (*call)(void* body, BlockLane& lane), void* body);

  std::vector<std::unique_ptr<BlockLane>> lanes_;
};

}  // namespace vit
