#include "vit/backend/attention.hpp"

#include <algorithm>
#include <optional>

#include "vit/backend/primitive.hpp"

namespace vit::backend {
namespace {

// Scores of one tile: about what the second-level caches of two cores hold beside the keys and values.
constexpr std::int64_t kTileFloats = 512 * 1024;

std::int64_t queries_per_tile(const AttentionShape& shape, bool whole_maps) {
  if (whole_maps) return shape.tokens;
  const std::int64_t fit =
      std::max<std::int64_t>(kTileFloats / (shape.maps * shape.heads * shape.tokens), 16);
  const std::int64_t tiles = (shape.tokens + fit - 1) / fit;
  return (shape.tokens + tiles - 1) / tiles;  // tiles of nearly equal height
}

/// Queries of one tile, and how far apart tokens lie in the buffers.
struct TileShape {
  std::int64_t rows;
  std::int64_t query_stride;
  std::int64_t key_stride;  // of values, too
};

/// The three primitives for a tile of queries.
struct Tile {
  Tile(Context& context, const AttentionShape& s, const TileShape& t);

  void score_keys(const float* q_data, const float* k_data, float* scores);     // scores = q kᵀ
  void normalise(float* scores);                                                // p = softmax(scores)
  void weigh_values(const float* v_data, float* weights, float* context_data);  // context = p v

  dnnl::memory::desc q_md, k_md, v_md, scores_md, weights_md, context_md;
  Primitive score;
  Primitive softmax;
  Primitive weigh;
  dnnl::memory q, k, v, s, p, c;

 private:
  static dnnl::matmul::primitive_desc matmul(const dnnl::memory::desc& a, const dnnl::memory::desc& b,
                                             const dnnl::memory::desc& c) {
    return {engine(), a, b, c, base_attr()};
  }
  static dnnl::softmax_forward::primitive_desc softmax_over_keys(const dnnl::memory::desc& md) {
    return {engine(),   dnnl::prop_kind::forward_inference, dnnl::algorithm::softmax_accurate, md, md, 2,
            base_attr()};
  }
  template <class Op, class Pd>
  static Primitive build(Context& context, const Pd& pd) {
    return {context, pd, Op(pd)};
  }
};

// Heads lie d apart in every buffer; where a head has two maps, its halves of q and k are like heads of d/2.
// Reading k with its last two axes exchanged is the transposition.
Tile::Tile(Context& context, const AttentionShape& shape, const TileShape& t)
    : q_md(strided({shape.heads * shape.maps, t.rows, shape.head_size / shape.maps},
                   {shape.head_size / shape.maps, t.query_stride, 1})),
      k_md(strided({shape.heads * shape.maps, shape.head_size / shape.maps, shape.tokens},
                   {shape.head_size / shape.maps, 1, t.key_stride})),
      v_md(strided({shape.heads, shape.tokens, shape.head_size}, {shape.head_size, t.key_stride, 1})),
      scores_md(dense({shape.heads * shape.maps, t.rows, shape.tokens})),
      weights_md(dense({shape.heads, t.rows, shape.tokens})),
      context_md(strided({shape.heads, t.rows, shape.head_size},
                         {shape.head_size, shape.heads * shape.head_size, 1})),
      score(build<dnnl::matmul>(context, matmul(q_md, k_md, scores_md))),
      softmax(build<dnnl::softmax_forward>(context, softmax_over_keys(scores_md))),
      weigh(build<dnnl::matmul>(context, matmul(weights_md, v_md, context_md))),
      q(unbound(q_md)),
      k(unbound(k_md)),
      v(unbound(v_md)),
      s(unbound(scores_md)),
      p(unbound(weights_md)),
      c(unbound(context_md)) {}

void Tile::score_keys(const float* q_data, const float* k_data, float* scores) {
  bind(q, q_data);
  bind(k, k_data);
  bind(s, scores);
  score.execute({{DNNL_ARG_SRC, q.get()}, {DNNL_ARG_WEIGHTS, k.get()}, {DNNL_ARG_DST, s.get()}});
}

void Tile::normalise(float* scores) {
  bind(s, scores);
  softmax.execute({{DNNL_ARG_SRC, s.get()}, {DNNL_ARG_DST, s.get()}});
}

void Tile::weigh_values(const float* v_data, float* weights, float* context_data) {
  bind(v, v_data);
  bind(p, weights);
  bind(c, context_data);
  weigh.execute({{DNNL_ARG_SRC, p.get()}, {DNNL_ARG_WEIGHTS, v.get()}, {DNNL_ARG_DST, c.get()}});
}

/// maps [heads, 2, size] -> their differences [heads, size] at its front, first − λ second. Heads one after
/// the other, since each overwrites what an earlier one has read.
void subtract_second_maps(float* maps, std::int64_t heads, std::int64_t size, float lambda) {
  for (std::int64_t head = 0; head < heads; ++head) {
    const float* const first = maps + 2 * head * size;
    const float* const second = first + size;
    float* const difference = maps + head * size;
#pragma omp parallel for
    for (std::int64_t i = 0; i < size; ++i) difference[i] = first[i] - lambda * second[i];
  }
}

}  // namespace

struct Attention::Impl {
  Impl(Context& context, const AttentionShape& s, std::int64_t tile_rows)
      : shape(s), rows(tile_rows), tile(context, s, tile_of(s, tile_rows)) {
    if (shape.tokens % rows != 0) rest.emplace(context, s, tile_of(s, shape.tokens % rows));
  }

  static TileShape tile_of(const AttentionShape& s, std::int64_t rows) {
    return {rows, 3 * s.heads * s.head_size, 3 * s.heads * s.head_size};
  }

  AttentionShape shape;
  std::int64_t rows;  // queries of a full tile
  Tile tile;
  std::optional<Tile> rest;  // the last, lower tile
};

Attention::Attention(Context& context, const AttentionShape& shape, bool whole_maps) {
  impl_ = guarded("build attention", [&] {
    return std::make_unique<Impl>(context, shape, queries_per_tile(shape, whole_maps));
  });
}

Attention::~Attention() = default;
Attention::Attention(Attention&&) noexcept = default;

std::int64_t Attention::scores_size() const {
  return impl_->shape.maps * impl_->shape.heads * impl_->rows * impl_->shape.tokens;
}

void Attention::run(const float* qkv, float* scores, float* context, const AttentionTerms& terms) {
  const AttentionShape& s = impl_->shape;
  const std::int64_t D = s.heads * s.head_size;
  const float* k = qkv + D;
  const float* v = qkv + 2 * D;
  for (std::int64_t row = 0; row < s.tokens; row += impl_->rows) {
    Tile& tile = row + impl_->rows <= s.tokens ? impl_->tile : *impl_->rest;
    const std::int64_t rows = std::min(impl_->rows, s.tokens - row);
    tile.score_keys(qkv + row * 3 * D, k, scores);
    if (terms.bias != nullptr) terms.bias->add_to(scores, row, rows);
    tile.normalise(scores);
    if (s.maps == 2) subtract_second_maps(scores, s.heads, rows * s.tokens, terms.lambda);
    tile.weigh_values(v, scores, context + row * D);
  }
}

std::vector<std::string> Attention::kernels() const {
  const Tile& tile = impl_->tile;
  return {tile.score.kernel(), tile.softmax.kernel(), tile.weigh.kernel()};
}

struct LatentAttention::Impl {
  Impl(Context& context, const AttentionShape& s)
      : D(s.heads * s.head_size), tile(context, s, TileShape{1, D, 2 * D}) {}

  std::int64_t D;
  Tile tile;
};

LatentAttention::LatentAttention(Context& context, const AttentionShape& shape) {
  impl_ = guarded("build attention pooling", [&] { return std::make_unique<Impl>(context, shape); });
}

LatentAttention::~LatentAttention() = default;
LatentAttention::LatentAttention(LatentAttention&&) noexcept = default;

void LatentAttention::run(const float* q, const float* kv, float* scores, float* context) {
  impl_->tile.score_keys(q, kv, scores);
  impl_->tile.normalise(scores);
  impl_->tile.weigh_values(kv + impl_->D, scores, context);
}

}  // namespace vit::backend
