// y = γ (x − mean(x)) / √(var(x) + ε) + β over the last axis (Ba et al. 2016, arXiv:1607.06450).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "vit/backend/context.hpp"
#include "vit/values.hpp"
#include "vit/weights.hpp"

namespace vit::backend {

/// γ and β [D], f32; RMS norms have no β.
struct NormParameters {
  explicit NormParameters(const NormWeights& weights)
      : gamma(weights.weight.to_tensor()), beta(weights.bias.empty() ? Tensor() : weights.bias.to_tensor()) {}
  /// The result multiplied by `factor`.
  NormParameters(const NormWeights& weights, float factor) : NormParameters(weights) {
    for (float& value : gamma.elements()) value *= factor;
    for (float& value : beta.elements()) value *= factor;
  }

  Tensor gamma;
  Tensor beta;
};

class LayerNorm {
 public:
  /// dst: f32 or bf16.
  LayerNorm(Context& context, std::int64_t rows, std::int64_t size, float epsilon,
            ValueType dst = ValueType::f32);
  ~LayerNorm();
  LayerNorm(LayerNorm&&) noexcept;

  /// src, dst [rows, size]; may be the same where dst is f32.
  void run(const float* src, const NormParameters& parameters, Values dst);

  const std::string& kernel() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vit::backend
