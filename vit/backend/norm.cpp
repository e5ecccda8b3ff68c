#include "vit/backend/norm.hpp"

#include <omp.h>

#include "vit/backend/convert.hpp"
#include "vit/backend/row_kernels.hpp"

namespace vit::backend {

Norm::Norm(Context& context, const Rows& shape, const NormFormula& formula, ValueType dst)
    : shape_(shape), formula_(formula) {
  if (formula.kind == NormKind::layer && dst != ValueType::u8) {
    layer_norm_.emplace(context, shape.rows, shape.size, formula.epsilon, dst);
  } else if (dst != ValueType::f32) {
    normed_ = Tensor({ThreadScope::threads(), shape.size});
  }
}

void Norm::run(const float* src, const NormParameters& parameters, Values dst) {
  if (layer_norm_) {
    layer_norm_->run(src, parameters, dst);
    return;
  }
  const float* const gamma = parameters.gamma.data();
  const std::int64_t size = shape_.size;
  if (dst.type == ValueType::f32) {
    rms_norm(src, shape_, gamma, formula_.epsilon, static_cast<float*>(dst.data));
    return;
  }
#pragma omp parallel for num_threads(static_cast <int>(normed_.shape()[0]))
  for (std::int64_t row = 0; row < shape_.rows; ++row) {
    float* const normed = normed_.data() + omp_get_thread_num() * size;
    if (formula_.kind == NormKind::layer) {
      row_kernels().layer_norm(src + row * size, size, gamma, parameters.beta.data(), formula_.epsilon,
                               normed);
    } else {
      rms_norm_vector(src + row * size, size, gamma, formula_.epsilon, normed);
    }
    convert_row(normed, size, dst, row);
  }
}

std::string Norm::kernel() const {
  return layer_norm_                        ? layer_norm_->kernel()
         : formula_.kind == NormKind::layer ? "layer:vitrine"
                                            : "rms:vitrine";
}

}  // namespace vit::backend
