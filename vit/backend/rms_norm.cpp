#include "vit/backend/rms_norm.hpp"

#include <cmath>

namespace vit::backend {

// The squares are summed in double: nothing is subtracted from them, but rows are thousands of floats long
// and the sum's error would be in every element.
void rms_norm_vector(const float* src, std::int64_t size, const float* gamma, float epsilon, float* dst) {
  double squares = 0;
#pragma omp simd reduction(+ : squares)
  for (std::int64_t i = 0; i < size; ++i)
    squares += static_cast<double>(src[i]) * static_cast<double>(src[i]);
  const double mean = squares / static_cast<double>(size);
  const auto scale = static_cast<float>(1 / std::sqrt(mean + static_cast<double>(epsilon)));
#pragma omp simd
  for (std::int64_t i = 0; i < size; ++i) dst[i] = gamma[i] * (src[i] * scale);
}

void rms_norm(const float* src, const Rows& shape, const float* gamma, float epsilon, float* dst) {
#pragma omp parallel for
  for (std::int64_t row = 0; row < shape.rows; ++row)
    rms_norm_vector(src + row * shape.size, shape.size, gamma, epsilon, dst + row * shape.size);
}

}  // namespace vit::backend
