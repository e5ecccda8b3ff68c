#include "vit/backend/norm.hpp"

#include "vit/backend/rms_norm.hpp"

namespace vit::backend {

Norm::Norm(Context& context, std::int64_t rows, std::int64_t size, const NormFormula& formula)
    : rows_(rows), size_(size), epsilon_(formula.epsilon) {
  if (formula.kind == NormKind::layer) layer_norm_.emplace(context, rows, size, formula.epsilon);
}

void Norm::run(const float* src, const NormParameters& parameters, float* dst) {
  if (layer_norm_) {
    layer_norm_->run(src, parameters, dst);
  } else {
    rms_norm(src, {rows_, size_}, parameters.gamma.data(), epsilon_, dst);
  }
}

std::string Norm::kernel() const {
  return layer_norm_ ? layer_norm_->kernel() : "rms:vitrine";
}

}  // namespace vit::backend
