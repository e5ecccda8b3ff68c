// Turns q and k by the angles of their tokens, in place in the qkv buffer (Su et al. 2021, arXiv:2104.09864).
#pragma once

#include <cstdint>

#include "vit/config.hpp"
#include "vit/tensor.hpp"

namespace vit::backend {

/// Heads of the tokens that are turned: those behind the first `prefix` of every image.
struct RotaryShape {
  std::int64_t batch = 0;
  std::int64_t tokens = 0;  ///< T
  std::int64_t prefix = 0;
  std::int64_t token_stride = 0;  ///< floats from token to token
  std::int64_t heads = 0;
  std::int64_t head_size = 0;  ///< d
};

/// Cosines and sines [T − prefix, d/2] for all heads, or [h, T − prefix, d/2].
struct RotaryTable {
  Tensor cosines;
  Tensor sines;

  /// Floats from a head to the next one.
  std::int64_t head_stride() const {
    return cosines.shape().size() == 3 ? cosines.size() / cosines.shape()[0] : 0;
  }
};

/// (a, b) = (a cos − b sin, b cos + a sin) for the pairs of every head. On the threads of the current
/// ThreadScope.
void rotate_heads(float* x, const RotaryShape& shape, const RotaryTable& table, RotaryLayout layout);

}  // namespace vit::backend
