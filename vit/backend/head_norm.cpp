#include "vit/backend/head_norm.hpp"

#include "vit/backend/rms_norm.hpp"
#include "vit/backend/row_kernels.hpp"

namespace vit::backend {

// oneDNN normalises rows that lie one behind the other; here other things lie between them.
void normalise_heads(float* x, const HeadRows& shape, const NormParameters& parameters,
                     const NormFormula& formula) {
#pragma omp parallel for
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      float* const vector = x + row * shape.row_stride + head * shape.head_size;
      if (formula.kind == NormKind::layer) {
        row_kernels().layer_norm(vector, shape.head_size, parameters.gamma.data(), parameters.beta.data(),
                                 formula.epsilon, vector);
      } else {
        rms_norm_vector(vector, shape.head_size, parameters.gamma.data(), formula.epsilon, vector);
      }
    }
  }
}

}  // namespace vit::backend
