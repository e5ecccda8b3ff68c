#include "vit/token_merging.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "vit/backend/lanes.hpp"
#include "vit/backend/row_kernels.hpp"

namespace vit {
namespace {

float widened(float x) {
  return x;
}

float widened(std::uint16_t bf16) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bf16) << 16U);
}

template <class From>
void add_heads(const From* keys, std::int64_t heads, std::span<float> sum) {
  std::fill(sum.begin(), sum.end(), 0.0F);
  for (std::int64_t head = 0; head < heads; ++head) {
    for (float& value : sum) value += widened(*keys++);
  }
}

}  // namespace

void take_metric(ConstValues keys, std::int64_t heads, std::span<float> metric) {
  if (keys.type == ValueType::bf16) {
    add_heads(static_cast<const std::uint16_t*>(keys.data), heads, metric);
  } else {
    add_heads(static_cast<const float*>(keys.data), heads, metric);
  }
  double square = 0;
  for (const float value : metric) square += static_cast<double>(value) * static_cast<double>(value);
  const auto inverse = static_cast<float>(square > 0 ? 1 / std::sqrt(square) : 0);
  for (float& value : metric) value *= inverse;
}

TokenEdge best_edge(const MergeShape& shape, const float* metric, std::int64_t source) {
  const std::int64_t d = shape.head_size;
  const std::int64_t first = shape.first_target();
  const backend::RowMatch match = backend::row_kernels().best_match(
      metric + 2 * source * d, d, {metric + (2 * first + 1) * d, shape.targets(), 2 * d});
  return {match.product, static_cast<std::int32_t>(source), static_cast<std::int32_t>(first + match.row)};
}

void rank_edges(const MergeShape& shape, std::span<TokenEdge> edges) {
  std::sort(edges.begin(), edges.end(), [](const TokenEdge& a, const TokenEdge& b) {
    return a.similarity != b.similarity ? a.similarity > b.similarity : a.source < b.source;
  });
  if (shape.prefix == 0) return;
  std::sort(edges.begin() + shape.merged, edges.end(),
            [](const TokenEdge& a, const TokenEdge& b) { return a.source < b.source; });
}

namespace {

/// place(from, to) for every token that is left: its place among the T, and among the T − r.
template <class Place>
void place_tokens(const MergeShape& shape, std::span<const TokenEdge> edges, Place place) {
  std::int64_t to = 0;
  for (; to < shape.prefix; ++to) place(to, to);
  for (const TokenEdge& edge : edges.subspan(static_cast<std::size_t>(shape.merged)))
    place(2 * std::int64_t{edge.source}, to++);
  for (std::int64_t target = shape.first_target(); to < shape.left(); ++target) place(2 * target + 1, to++);
}

/// Where a token of B is among the T − r.
std::int64_t place_of_target(const MergeShape& shape, std::int64_t target) {
  return shape.left() - shape.targets() + target - shape.first_target();
}

}  // namespace

void merge_sizes(const MergeShape& shape, const float* sizes, std::span<TokenEdge> edges, float* merged) {
  place_tokens(shape, edges, [&](std::int64_t from, std::int64_t to) { merged[to] = sizes[from]; });
  for (TokenEdge& edge : edges.first(static_cast<std::size_t>(shape.merged))) {
    const float size = sizes[2 * std::int64_t{edge.source}];
    edge.share = size / (merged[place_of_target(shape, edge.target)] += size);
  }
}

void merge_columns(const MergeShape& shape, std::span<const TokenEdge> edges, const float* tokens,
                   float* merged, std::int64_t first, std::int64_t count) {
  const std::int64_t D = shape.width();
  place_tokens(shape, edges, [&](std::int64_t from, std::int64_t to) {
    std::copy_n(tokens + from * D + first, count, merged + to * D + first);
  });
  for (const TokenEdge& edge : edges.first(static_cast<std::size_t>(shape.merged))) {
    const float* const x = tokens + 2 * std::int64_t{edge.source} * D + first;
    float* const mean = merged + place_of_target(shape, edge.target) * D + first;
    for (std::int64_t i = 0; i < count; ++i) mean[i] += (x[i] - mean[i]) * edge.share;
  }
}

MergeBuffers TokenMerging::buffers() const {
  return {Tensor({shape_.batch, shape_.tokens, shape_.head_size}),
          std::vector<TokenEdge>(static_cast<std::size_t>(shape_.batch * shape_.sources()))};
}

void TokenMerging::run(ConstValues qkv, const TokenStream& from, const TokenStream& to,
                       MergeBuffers& buffers) const {
  const MergeShape& s = shape_;
  const std::int64_t D = s.width();
  const std::int64_t d = s.head_size;
  const int lanes = backend::ThreadScope::threads();
  float* const metric = buffers.metric.data();
  const auto edges_of = [&](std::int64_t image) {
    return std::span(buffers.edges)
        .subspan(static_cast<std::size_t>(image * s.sources()), static_cast<std::size_t>(s.sources()));
  };
  backend::for_each_on_lanes(lanes, s.batch * s.tokens, [&](int, std::int64_t row) {
    take_metric(qkv.at((3 * row + 1) * D), s.heads, {metric + row * d, static_cast<std::size_t>(d)});
  });
  backend::for_each_on_lanes(lanes, s.batch * s.sources(), [&](int, std::int64_t i) {
    const std::int64_t image = i / s.sources();
    buffers.edges[static_cast<std::size_t>(i)] =
        best_edge(s, metric + image * s.tokens * d, s.first_source() + i % s.sources());
  });
  backend::for_each_on_lanes(lanes, s.batch, [&](int, std::int64_t image) {
    rank_edges(s, edges_of(image));
    merge_sizes(s, from.sizes + image * s.tokens, edges_of(image), to.sizes + image * s.left());
  });
  const std::int64_t parts = s.batch % lanes == 0 ? 1 : std::min<std::int64_t>(lanes, D);  // of each image
  backend::for_each_on_lanes(lanes, s.batch * parts, [&](int, std::int64_t i) {
    const std::int64_t image = i / parts;
    const std::int64_t first = i % parts * D / parts;
    merge_columns(s, edges_of(image), from.tokens + image * s.tokens * D, to.tokens + image * s.left() * D,
                  first, (i % parts + 1) * D / parts - first);
  });
}

}  // namespace vit
