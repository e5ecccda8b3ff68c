#include "vit/backend/residual.hpp"

namespace vit::backend {

void add_branch(float* x, const float* branch, std::int64_t size) {
#pragma omp parallel for simd
  for (std::int64_t i = 0; i < size; ++i) x[i] += branch[i];
}

}  // namespace vit::backend
