#include "vit/backend/head_norm.hpp"

#include <cmath>

#include "vit/backend/rms_norm.hpp"

namespace vit::backend {
namespace {

/// Two passes: the variance of what is left without the mean, as oneDNN and PyTorch compute it.
void normalise(float* x, std::int64_t d, const NormParameters& parameters, float epsilon) {
  const float* gamma = parameters.gamma.data();
  const float* beta = parameters.beta.data();
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < d; ++i) sum += x[i];
  const float mean = sum / static_cast<float>(d);
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (std::int64_t i = 0; i < d; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const float scale = 1 / std::sqrt(squares / static_cast<float>(d) + epsilon);
#pragma omp simd
  for (std::int64_t i = 0; i < d; ++i) x[i] = gamma[i] * ((x[i] - mean) * scale) + beta[i];
}

}  // namespace

// oneDNN normalises rows that lie one behind the other; here other things lie between them.
void normalise_heads(float* x, const HeadRows& shape, const NormParameters& parameters,
                     const NormFormula& formula) {
#pragma omp parallel for
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      float* const vector = x + row * shape.row_stride + head * shape.head_size;
      if (formula.kind == NormKind::layer) {
        normalise(vector, shape.head_size, parameters, formula.epsilon);
      } else {
        rms_norm_vector(vector, shape.head_size, parameters.gamma.data(), formula.epsilon, vector);
      }
    }
  }
}

}  // namespace vit::backend
