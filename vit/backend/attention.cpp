#include "vit/backend/attention.hpp"

#include <algorithm>
#include <vector>

#include "vit/backend/head_lane.hpp"
#include "vit/backend/lanes.hpp"

namespace vit::backend {
namespace {

// Scores of a lane's tile: what its core's second-level cache holds beside the head's keys and values.
constexpr std::int64_t kTileFloats = 80 * 1024;

constexpr std::int64_t kFewestRows = 16;  // that a product is still efficient with

/// How the queries of one head are cut.
struct Tiles {
  std::int64_t count;
  std::int64_t rows;       // of all tiles but the last
  std::int64_t last_rows;  // 1 to rows
};

/// As few tiles as fit the cache, and more only to give every lane the same share of heads.
Tiles tiles_of(const AttentionShape& s, int lanes) {
  const std::int64_t most = std::max(kTileFloats / (s.maps * s.tokens), kFewestRows);
  std::int64_t count = (s.tokens + most - 1) / most;
  while (s.batch * s.heads * count % lanes != 0 && count < 4 * lanes && s.tokens / (count + 1) >= kFewestRows)
    ++count;
  const std::int64_t rows = (s.tokens + count - 1) / count;
  count = (s.tokens + rows - 1) / rows;
  return {count, rows, s.tokens - (count - 1) * rows};
}

/// Lanes and the memory that they work in.
struct Lanes {
  /// Each is built as it will run: with one thread.
  Lanes(int count, const LaneShape& shape, std::int64_t last_rows) {
    guarded("build attention", [&] {
      const ThreadScope one(1);
      for (int i = 0; i < count; ++i) all.push_back(std::make_unique<HeadLane>(shape, last_rows, memory));
    });
  }

  int count() const { return static_cast<int>(all.size()); }
  HeadLane& operator[](int lane) { return *all[static_cast<std::size_t>(lane)]; }

  LargeMemoryPool memory;
  std::vector<std::unique_ptr<HeadLane>> all;
};

/// No more threads than there is work for.
int lanes_for(std::int64_t work) {
  return static_cast<int>(std::min<std::int64_t>(ThreadScope::threads(), work));
}

}  // namespace

struct Attention::Impl {
  Impl(const AttentionShape& s, const AttentionTypes& types, int lane_count)
      : shape(s),
        tiles(tiles_of(s, lane_count)),
        lanes(lane_count,
              {tiles.rows, s.tokens, s.head_size, s.maps, 3 * s.heads * s.head_size,
               3 * s.heads * s.head_size, s.heads * s.head_size, types},
              tiles.last_rows) {}

  AttentionShape shape;
  Tiles tiles;
  Lanes lanes;
};

Attention::Attention(const AttentionShape& shape, const AttentionTypes& types)
    : impl_(std::make_unique<Impl>(
          shape, types,
          lanes_for(shape.batch * shape.heads * std::max<std::int64_t>(shape.tokens / kFewestRows, 1)))) {}

Attention::~Attention() = default;
Attention::Attention(Attention&&) noexcept = default;

void Attention::run(ConstValues qkv, float* maps, Values context, const AttentionTerms& terms) {
  const AttentionShape& s = impl_->shape;
  const Tiles& tiles = impl_->tiles;
  const std::int64_t D = s.heads * s.head_size;
  const auto lanes = impl_->lanes.count();
  const std::int64_t count = s.batch * s.heads * tiles.count;
  const std::int64_t share = (count + lanes - 1) / lanes;
  for_each_on_lanes(lanes, lanes, [&](int thread, std::int64_t part_index) {
    HeadLane& lane = impl_->lanes[thread];
    std::int64_t taken = -1;
    for (std::int64_t i = part_index * share; i < std::min(count, (part_index + 1) * share); ++i) {
      const std::int64_t head = i / tiles.count % s.heads;
      const std::int64_t image = i / tiles.count / s.heads;
      const std::int64_t first = i % tiles.count * tiles.rows;
      const std::int64_t rows = i % tiles.count == tiles.count - 1 ? tiles.last_rows : tiles.rows;
      const ConstValues q = qkv.at((image * s.tokens * 3) * D + head * s.head_size);
      if (taken != i / tiles.count) lane.take_keys(q.at(D), q.at(2 * D));
      taken = i / tiles.count;
      if (i % tiles.count == 0 && i / tiles.count % s.heads + 1 < s.heads)
        lane.expect(q.at(s.head_size), q.at(D + s.head_size), q.at(2 * D + s.head_size));
      lane.score(q.at(first * 3 * D), rows);
      if (terms.bias != nullptr) terms.bias->add_to(lane.scores(0), head, first, rows);
      const Values to = context.at((image * s.tokens + first) * D + head * s.head_size);
      if (maps == nullptr && s.maps == 1) {
        lane.weigh(rows, to, terms.sizes == nullptr ? nullptr : terms.sizes + image * s.tokens);
        continue;
      }
      lane.weigh_probabilities(rows, terms.lambda, to);
      if (maps != nullptr)
        std::copy_n(lane.scores(0), rows * s.tokens,
                    maps + ((image * s.heads + head) * s.tokens + first) * s.tokens);
    }
  });
}

std::vector<std::string> Attention::kernels() const {
  return impl_->lanes[0].kernels();
}

struct LatentAttention::Impl {
  Impl(const AttentionShape& s, std::int64_t prefix_tokens)
      : shape(s),
        prefix(prefix_tokens),
        lanes(lanes_for(s.batch * s.heads),
              {1, s.tokens, s.head_size, 1, s.head_size, 2 * s.heads * s.head_size, s.head_size, {}}, 1) {}

  AttentionShape shape;
  std::int64_t prefix;
  Lanes lanes;
};

LatentAttention::LatentAttention(const AttentionShape& shape, std::int64_t prefix)
    : impl_(std::make_unique<Impl>(shape, prefix)) {}

LatentAttention::~LatentAttention() = default;
LatentAttention::LatentAttention(LatentAttention&&) noexcept = default;

void LatentAttention::run(const float* q, const float* kv, float* context, const float* sizes) {
  const AttentionShape& s = impl_->shape;
  const std::int64_t prefix = impl_->prefix;
  const std::int64_t D = s.heads * s.head_size;
  for_each_on_lanes(impl_->lanes.count(), s.batch * s.heads, [&](int thread, std::int64_t i) {
    HeadLane& lane = impl_->lanes[thread];
    const std::int64_t at = i % s.heads * s.head_size;
    const std::int64_t first = i / s.heads * (prefix + s.tokens) + prefix;  // token of the batch
    const float* const k = kv + first * 2 * D + at;
    lane.take_keys(k, k + D);
    lane.score(q + at, 1);
    lane.weigh(1, context + i / s.heads * D + at, sizes == nullptr ? nullptr : sizes + first);
  });
}

}  // namespace vit::backend
