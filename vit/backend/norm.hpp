// The norm that a network has everywhere: a layer norm or an RMS norm over the last axis.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "vit/backend/layer_norm.hpp"
#include "vit/backend/rms_norm.hpp"
#include "vit/config.hpp"
#include "vit/values.hpp"

namespace vit::backend {

/// What a norm computes: its formula and its ε.
struct NormFormula {
  NormFormula(NormKind norm_kind, float norm_epsilon) : kind(norm_kind), epsilon(norm_epsilon) {}
  explicit NormFormula(const ModelConfig& config) : NormFormula(config.norm, config.layer_norm_eps) {}

  NormKind kind;
  float epsilon;
};

class Norm {
 public:
  Norm(Context& context, const Rows& shape, const NormFormula& formula, ValueType dst = ValueType::f32);

  /// src, dst [rows, size]; may be the same where dst is f32.
  void run(const float* src, const NormParameters& parameters, Values dst);

  std::string kernel() const;

 private:
  Rows shape_;
  NormFormula formula_;
  std::optional<LayerNorm> layer_norm_;  // where oneDNN has the norm and writes the type
  Tensor normed_;                        // elsewhere, a row for each thread
};

}  // namespace vit::backend
