// Attention of one head on one thread: the products, what they read and what they write. Internal to
// vit/backend.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vit/backend/attention.hpp"
#include "vit/backend/primitive.hpp"

namespace vit::backend {

/// What a lane works on: a tile of queries, all keys, and how far apart tokens lie in the buffers.
struct LaneShape {
  std::int64_t rows;  ///< queries of a tile
  std::int64_t tokens;
  std::int64_t head_size;
  std::int64_t maps;
  std::int64_t query_stride;  ///< elements from token to token
  std::int64_t key_stride;    ///< of values, too
  std::int64_t context_stride;
  AttentionTypes types;
};

/// Belongs to one thread. Built and run with one OpenMP thread, so that oneDNN makes none.
class HeadLane {
 public:
  /// `last_rows`: queries of the last tile, which may be fewer. Works in `memory`, which outlives it.
  HeadLane(const LaneShape& shape, std::int64_t last_rows, LargeMemoryPool& memory);

  /// Packs a head, whose keys and values begin here.
  void take_keys(ConstValues k, ConstValues v);
  /// Where the head begins that is taken next: its rows are fetched while the products of this one run.
  void expect(ConstValues q, ConstValues k, ConstValues v) { next_ = {q.data, k.data, v.data}; }
  /// scores = q kᵀ for so many queries: the shape's rows or the last tile's.
  void score(ConstValues q, std::int64_t rows);
  /// Those of a map, [rows, T].
  float* scores(std::int64_t map) { return floats(scores_) + map * shape_.rows * shape_.tokens; }
  /// context = softmax(scores + ln sizes) v; `sizes` [T], if not null, of the keys
  void weigh(std::int64_t rows, Values context, const float* sizes = nullptr);
  /// The same with the probabilities left in scores(0): softmax(scores(0)) − λ softmax(scores(1)), the second
  /// only where there are two maps.
  void weigh_probabilities(std::int64_t rows, float lambda, Values context);

  std::vector<std::string> kernels() const;

 private:
  static float* floats(const ValueBuffer& buffer) { return static_cast<float*>(buffer.values().data); }

  /// The products for a number of queries.
  struct Products {
    /// Without layouts of k and v, oneDNN chooses them.
    Products(Context& context, const LaneShape& shape, std::int64_t rows, const dnnl::memory::desc& keys,
             const dnnl::memory::desc& values);

    Primitive take_queries;
    Primitive score;
    Primitive weigh;
    dnnl::memory from, q, scores, probabilities, weighed;

   private:
    Products(Context& context, const LaneShape& shape, std::int64_t rows,
             const dnnl::matmul::primitive_desc& score_pd, const dnnl::matmul::primitive_desc& weigh_pd);
    friend class HeadLane;
    dnnl::memory::desc key_md, value_md;
  };

  Products& products_for(std::int64_t rows) { return rows == shape_.rows ? whole_ : *last_; }
  /// The probabilities of a query before they are divided by their sum, which is returned.
  float weigh_row(std::int64_t row, const float* sizes);
  /// Has row `row` of the next head brought into the cache: it was written on another core, a line or two in
  /// every page, where no processor looks ahead by itself.
  void fetch_ahead(std::int64_t row) const;
  /// context = p v, each row times its factor; p are the scores or, rounded, the probabilities.
  void multiply_values(std::int64_t rows, Values context);

  LaneShape shape_;
  std::array<const void*, 3> next_{};
  Context context_;
  Products whole_;
  std::optional<Products> last_;
  Primitive pack_keys_;
  Primitive pack_values_;
  dnnl::memory from_k_, from_v_, v_;
  std::vector<dnnl::memory> k_;  // of each map
  ValueBuffer queries_;          // [rows, d] of one map
  ValueBuffer scores_;           // [maps, rows, T]
  ValueBuffer probabilities_;    // [rows, T] for products that are not f32
  ValueBuffer weighed_;          // [rows, d]
  Tensor factors_;               // [rows]
};

}  // namespace vit::backend
