// y = γ x / √(mean(x²) + ε) over the last axis (Zhang and Sennrich 2019, arXiv:1910.07467). oneDNN has it
// from 3.8 on, and 3.2 is what we build with.
#pragma once

#include <cstdint>

namespace vit::backend {

/// `rows` vectors of `size` floats, one behind the other.
struct Rows {
  std::int64_t rows = 0;
  std::int64_t size = 0;
};

/// src and dst [rows, size] may be the same. On the threads of the current ThreadScope.
void rms_norm(const float* src, const Rows& shape, const float* gamma, float epsilon, float* dst);

/// The same for a single vector, on this thread.
void rms_norm_vector(const float* src, std::int64_t size, const float* gamma, float epsilon, float* dst);

}  // namespace vit::backend
