#include "vit/block_lanes.hpp"

#include "vit/backend/lanes.hpp"

namespace vit {
namespace {

/// Rows for each of at most `threads` lanes: equally many, which are whole images where those can be shared
/// out.
std::vector<RowRange> share_rows(std::int64_t rows, std::int64_t threads) {
  constexpr std::int64_t kFewest =
      48;  // rows that keep a core busy for as long as it takes to fetch the weights
  if (rows < kFewest * threads) return {{0, rows}};
  std::vector<RowRange> ranges;
  std::int64_t first = 0;
  for (std::int64_t lane = 0; lane < threads; ++lane) {
    const std::int64_t count = (rows - first) / (threads - lane);
    ranges.push_back({first, count});
    first += count;
  }
  return ranges;
}

}  // namespace

BlockLanes::BlockLanes(const ModelConfig& config, const PackedBlock& like, const BlockTypes& types,
                       std::int64_t rows, Contexts& contexts) {
  const std::vector<RowRange> ranges = share_rows(rows, backend::ThreadScope::threads());
  const backend::ThreadScope scope(ranges.size() > 1 ? 1 : backend::ThreadScope::threads());
  while (contexts.size() < ranges.size()) contexts.push_back(std::make_unique<backend::Context>());
  for (std::size_t i = 0; i < ranges.size(); ++i)
    lanes_.push_back(std::make_unique<BlockLane>(config, like, types, ranges[i], *contexts[i]));
}

void BlockLanes::run_each(Workspace& workspace, void (*call)(void* body, BlockLane& lane), void* body) {
  if (lanes_.size() == 1) {
    call(body, *lanes_.front());
    return;
  }
  const auto count = static_cast<int>(lanes_.size());
  backend::for_each_on_lanes(count, count,
                             [&](int, std::int64_t i) { call(body, *lanes_[static_cast<std::size_t>(i)]); });
  lap(workspace.profile, LayerKind::other);  // waiting for the others
}

}  // namespace vit
