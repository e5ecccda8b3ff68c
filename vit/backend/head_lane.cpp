#include "vit/backend/head_lane.hpp"

#include "vit/backend/row_kernels.hpp"

namespace vit::backend {
namespace {

std::int64_t map_size(const LaneShape& s) {
  return s.head_size / s.maps;
}

dnnl::memory::desc described(const dnnl::memory::desc& wanted, const dnnl::memory::dims& dims,
                             ValueType type) {
  return wanted.is_zero() ? any_layout(dims, data_type(type)) : wanted;
}

dnnl::matmul::primitive_desc score_pd(const LaneShape& s, std::int64_t rows, const dnnl::memory::desc& keys) {
  return {engine(), dense({rows, map_size(s)}, s.types.products),
          described(keys, {map_size(s), s.tokens}, s.types.products), dense({rows, s.tokens}), base_attr()};
}

dnnl::matmul::primitive_desc weigh_pd(const LaneShape& s, std::int64_t rows,
                                      const dnnl::memory::desc& values) {
  return {engine(), dense({rows, s.tokens}, s.types.products),
          described(values, {s.tokens, s.head_size}, s.types.products), dense({rows, s.head_size}),
          base_attr()};
}

}  // namespace

HeadLane::Products::Products(Context& context, const LaneShape& s, std::int64_t rows,
                             const dnnl::memory::desc& keys, const dnnl::memory::desc& values)
    : Products(context, s, rows, score_pd(s, rows, keys), weigh_pd(s, rows, values)) {}

HeadLane::Products::Products(Context& context, const LaneShape& s, std::int64_t rows,
                             const dnnl::matmul::primitive_desc& score_desc,
                             const dnnl::matmul::primitive_desc& weigh_desc)
    : take_queries(build_reorder(context, strided({rows, map_size(s)}, {s.query_stride, 1}, s.types.qkv),
                                 score_desc.src_desc())),
      score(context, score_desc, dnnl::matmul(score_desc)),
      weigh(context, weigh_desc, dnnl::matmul(weigh_desc)),
      from(unbound(strided({rows, map_size(s)}, {s.query_stride, 1}, s.types.qkv))),
      q(unbound(score_desc.src_desc())),
      scores(unbound(score_desc.dst_desc())),
      probabilities(unbound(weigh_desc.src_desc())),
      weighed(unbound(weigh_desc.dst_desc())),
      key_md(score_desc.weights_desc()),
      value_md(weigh_desc.weights_desc()) {}

// Reading k with its axes exchanged is the transposition.
HeadLane::HeadLane(const LaneShape& s, std::int64_t last_rows, LargeMemoryPool& memory)
    : shape_(s),
      whole_(context_, s, s.rows, dnnl::memory::desc(), dnnl::memory::desc()),
      pack_keys_(build_reorder(context_, strided({map_size(s), s.tokens}, {1, s.key_stride}, s.types.qkv),
                               whole_.key_md)),
      pack_values_(build_reorder(context_, strided({s.tokens, s.head_size}, {s.key_stride, 1}, s.types.qkv),
                                 whole_.value_md)),
      from_k_(unbound(strided({map_size(s), s.tokens}, {1, s.key_stride}, s.types.qkv))),
      from_v_(unbound(strided({s.tokens, s.head_size}, {s.key_stride, 1}, s.types.qkv))),
      v_(whole_.value_md, engine(), memory.take(whole_.value_md.get_size())),
      queries_(s.rows, map_size(s), s.types.products, memory),
      scores_(s.maps * s.rows, s.tokens, ValueType::f32, memory),
      weighed_(s.rows, s.head_size, ValueType::f32, memory),
      factors_({s.rows}) {
  if (last_rows != s.rows) last_.emplace(context_, s, last_rows, whole_.key_md, whole_.value_md);
  for (std::int64_t map = 0; map < s.maps; ++map)
    k_.emplace_back(whole_.key_md, engine(), memory.take(whole_.key_md.get_size()));
  if (s.types.products != ValueType::f32)
    probabilities_ = ValueBuffer(s.rows, s.tokens, s.types.products, memory);
}

void HeadLane::take_keys(ConstValues k, ConstValues v) {
  for (std::int64_t map = 0; map < shape_.maps; ++map) {
    bind(from_k_, k.at(map * map_size(shape_)).data);
    pack_keys_.execute(
        {{DNNL_ARG_FROM, from_k_.get()}, {DNNL_ARG_TO, k_[static_cast<std::size_t>(map)].get()}});
  }
  bind(from_v_, v.data);
  pack_values_.execute({{DNNL_ARG_FROM, from_v_.get()}, {DNNL_ARG_TO, v_.get()}});
}

void HeadLane::score(ConstValues q, std::int64_t rows) {
  Products& products = products_for(rows);
  bind(products.q, queries_.values().data);
  for (std::int64_t map = 0; map < shape_.maps; ++map) {
    bind(products.from, q.at(map * map_size(shape_)).data);
    products.take_queries.execute({{DNNL_ARG_FROM, products.from.get()}, {DNNL_ARG_TO, products.q.get()}});
    bind(products.scores, scores(map));
    products.score.execute({{DNNL_ARG_SRC, products.q.get()},
                            {DNNL_ARG_WEIGHTS, k_[static_cast<std::size_t>(map)].get()},
                            {DNNL_ARG_DST, products.scores.get()}});
  }
}

void HeadLane::fetch_ahead(std::int64_t row) const {
#ifdef __GNUC__
  constexpr std::int64_t kLine = 64;
  const std::int64_t bytes = shape_.head_size * size_of(shape_.types.qkv);
  const std::int64_t stride = shape_.key_stride * size_of(shape_.types.qkv);
  for (const void* head : next_) {
    if (head == nullptr) continue;
    const auto* const line = static_cast<const char*>(head) + row * stride;
    for (std::int64_t i = 0; i < bytes; i += kLine) __builtin_prefetch(line + i);
  }
#endif
}

float HeadLane::weigh_row(std::int64_t row, const float* sizes) {
  const RowKernels& kernels = row_kernels();
  const std::int64_t T = shape_.tokens;
  float* const s = scores(0) + row * T;
  if (shape_.types.products == ValueType::f32)
    return sizes == nullptr ? kernels.exponentials(s, T, s) : kernels.weighted_exponentials(s, T, sizes, s);
  bf16_t* const p = static_cast<bf16_t*>(probabilities_.values().data) + row * T;
  return sizes == nullptr ? kernels.exponentials_bf16(s, T, p)
                          : kernels.weighted_exponentials_bf16(s, T, sizes, p);
}

void HeadLane::weigh(std::int64_t rows, Values context, const float* sizes) {
  for (std::int64_t row = 0; row < rows; ++row) {
    factors_.data()[row] = 1 / weigh_row(row, sizes);  // a division that waits for the d numbers of context
    fetch_ahead(row);
  }
  next_ = {};
  multiply_values(rows, context);
}

void HeadLane::weigh_probabilities(std::int64_t rows, float lambda, Values context) {
  const RowKernels& kernels = row_kernels();
  const std::int64_t T = shape_.tokens;
  for (std::int64_t row = 0; row < rows; ++row) {
    float* const p = scores(0) + row * T;
    kernels.scale(p, T, 1 / kernels.exponentials(p, T, p), p);
    if (shape_.maps == 2) {
      float* const second = scores(1) + row * T;
      const float share = lambda / kernels.exponentials(second, T, second);
      for (std::int64_t i = 0; i < T; ++i) p[i] -= share * second[i];
    }
    if (shape_.types.products != ValueType::f32)
      kernels.scale_bf16(p, T, 1, static_cast<bf16_t*>(probabilities_.values().data) + row * T);
    factors_.data()[row] = 1;
  }
  multiply_values(rows, context);
}

void HeadLane::multiply_values(std::int64_t rows, Values context) {
  Products& products = products_for(rows);
  const bool rounded = shape_.types.products != ValueType::f32;
  bind(products.probabilities, rounded ? probabilities_.values().data : scores(0));
  bind(products.weighed, floats(weighed_));
  products.weigh.execute({{DNNL_ARG_SRC, products.probabilities.get()},
                          {DNNL_ARG_WEIGHTS, v_.get()},
                          {DNNL_ARG_DST, products.weighed.get()}});
  const RowKernels& kernels = row_kernels();
  const std::int64_t d = shape_.head_size;
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* const from = floats(weighed_) + row * d;
    const std::int64_t to = row * shape_.context_stride;
    if (context.type == ValueType::f32) {
      kernels.scale(from, d, factors_.data()[row], static_cast<float*>(context.data) + to);
    } else {
      kernels.scale_bf16(from, d, factors_.data()[row], static_cast<bf16_t*>(context.data) + to);
    }
  }
}

std::vector<std::string> HeadLane::kernels() const {
  return {pack_keys_.kernel(), whole_.score.kernel(), whole_.weigh.kernel()};
}

}  // namespace vit::backend
