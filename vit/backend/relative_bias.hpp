// What relative positions add to the scores of attention (Bao et al. 2021, arXiv:2106.08254). The numbers for
// all pairs of tokens are never written down: for a query, those for a row of patches lie side by side in the
// table.
#pragma once

#include <cstdint>

#include "vit/config.hpp"
#include "vit/tensor.hpp"

namespace vit::backend {

class RelativeBias {
 public:
  /// table [(2 rows − 1)(2 columns − 1) + 3, h] for this grid. Row (dy + rows − 1)(2 columns − 1) + dx +
  /// columns − 1 is for queries dy rows below and dx columns right of the key; then come class token to
  /// patch, patch to class token, class token to itself.
  RelativeBias(const Tensor& table, Size2 grid);

  /// scores [rows, T] of a head for the queries from `first` on, class token first.
  void add_to(float* scores, std::int64_t head, std::int64_t first, std::int64_t rows) const;

 private:
  void add_to_query(float* scores, std::int64_t head, std::int64_t query) const;

  Size2 grid_;
  std::int64_t heads_;
  Tensor distances_;  // [h, 2 rows − 1, 2 columns − 1], by key minus query
  Tensor class_;      // [h, 3]
};

}  // namespace vit::backend
