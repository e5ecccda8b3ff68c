// A norm over every head of q or k, in place in the qkv buffer (Dehghani et al. 2023, arXiv:2302.05442,
// section 2.1).
#pragma once

#include <cstdint>

#include "vit/backend/norm.hpp"

namespace vit::backend {

/// Vectors of d floats: `heads` of them side by side in each row, `row_stride` floats from row to row.
struct HeadRows {
  std::int64_t rows = 0;
  std::int64_t row_stride = 0;
  std::int64_t heads = 0;
  std::int64_t head_size = 0;  ///< d
};

/// The norm of every vector, in place. On the threads of the current ThreadScope.
void normalise_heads(float* x, const HeadRows& shape, const NormParameters& parameters,
                     const NormFormula& formula);

}  // namespace vit::backend
