// The norm that a network has everywhere: a layer norm or an RMS norm over the last axis.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "vit/backend/layer_norm.hpp"
#include "vit/config.hpp"

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
  Norm(Context& context, std::int64_t rows, std::int64_t size, const NormFormula& formula);

  /// src, dst [rows, size]; may be the same.
  void run(const float* src, const NormParameters& parameters, float* dst);

  std::string kernel() const;

 private:
  std::int64_t rows_;
  std::int64_t size_;
  float epsilon_;
  std::optional<LayerNorm> layer_norm_;
};

}  // namespace vit::backend
