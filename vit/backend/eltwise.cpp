#include "vit/backend/eltwise.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace vit::backend {
namespace {

// Klambauer et al. 2017, arXiv:1706.02515, equations 14 and 2.
constexpr float kSeluAlpha = 1.6732632423543772F;
constexpr float kSeluScale = 1.0507009873554805F;

/// Φ((x − μ) / σ) of Ma et al. 2022, arXiv:2209.10655. Through erfc, which does not cancel where it is small,
/// and in double, since the square of what it is given becomes an exponent.
float laplace(float x) {
  constexpr double kMu = 0.707107;
  constexpr double kFactor = 1 / (0.282095 * std::numbers::sqrt2);
  return static_cast<float>(0.5 * std::erfc((kMu - static_cast<double>(x)) * kFactor));
}

float sqrt_softplus(float x) {
  return std::sqrt(std::max(x, 0.0F) + std::log1p(std::exp(-std::abs(x))));
}

template <class F>
void for_each_element(F f, float* x, std::int64_t size) {
#pragma omp parallel for
  for (std::int64_t i = 0; i < size; ++i) x[i] = f(x[i]);
}

}  // namespace

bool has_eltwise(Activation activation) {
  return activation != Activation::laplace && activation != Activation::sqrt_softplus;
}

void append_eltwise(dnnl::post_ops& ops, Activation activation) {
  using dnnl::algorithm;
  switch (activation) {
    // Not eltwise_gelu, which is an alias of the tanh form.
    case Activation::gelu:
      ops.append_eltwise(algorithm::eltwise_gelu_erf, 0, 0);
      return;
    case Activation::gelu_tanh:
      ops.append_eltwise(algorithm::eltwise_gelu_tanh, 0, 0);
      return;
    case Activation::quick_gelu:
      ops.append_eltwise(algorithm::eltwise_swish, 1.702F, 0);
      return;
    case Activation::gelu_10:
      ops.append_eltwise(algorithm::eltwise_gelu_erf, 0, 0);
      ops.append_eltwise(algorithm::eltwise_clip, -10, 10);
      return;
    case Activation::relu:
      ops.append_eltwise(algorithm::eltwise_relu, 0, 0);
      return;
    case Activation::leaky_relu:
      ops.append_eltwise(algorithm::eltwise_relu, 0.01F, 0);
      return;
    case Activation::relu6:
      ops.append_eltwise(algorithm::eltwise_clip, 0, 6);
      return;
    case Activation::relu2:
      ops.append_eltwise(algorithm::eltwise_relu, 0, 0);
      ops.append_eltwise(algorithm::eltwise_square, 0, 0);
      return;
    case Activation::elu:
      ops.append_eltwise(algorithm::eltwise_elu, 1, 0);
      return;
    case Activation::selu:
      ops.append_eltwise(algorithm::eltwise_elu, kSeluAlpha, 0);
      ops.append_eltwise(algorithm::eltwise_linear, kSeluScale, 0);
      return;
    case Activation::silu:
      ops.append_eltwise(algorithm::eltwise_swish, 1, 0);
      return;
    case Activation::mish:
      ops.append_eltwise(algorithm::eltwise_mish, 0, 0);
      return;
    case Activation::tanh:
      ops.append_eltwise(algorithm::eltwise_tanh, 0, 0);
      return;
    case Activation::sigmoid:
      ops.append_eltwise(algorithm::eltwise_logistic, 0, 0);
      return;
    case Activation::hard_sigmoid:
      ops.append_eltwise(algorithm::eltwise_hardsigmoid, 1 / 6.0F, 0.5F);
      return;
    case Activation::hard_swish:
      ops.append_eltwise(algorithm::eltwise_hardswish, 1 / 6.0F, 0.5F);
      return;
    case Activation::hard_mish:
      ops.append_eltwise(algorithm::eltwise_hardswish, 0.5F, 1);
      return;
    case Activation::identity:
    case Activation::laplace:
    case Activation::sqrt_softplus:
      return;
  }
}

void activate_in_place(Activation activation, float* x, std::int64_t size) {
  if (activation == Activation::laplace) for_each_element(laplace, x, size);
  if (activation == Activation::sqrt_softplus) for_each_element(sqrt_softplus, x, size);
}

}  // namespace vit::backend
