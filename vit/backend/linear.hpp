// dst = act(src Wᵀ + b), dst += src Wᵀ + b or dst = factor ⊙ (src Wᵀ + b): one matmul with its epilogue
// fused.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "vit/backend/context.hpp"
#include "vit/config.hpp"
#include "vit/weights.hpp"

namespace vit::backend {

/// Weights [out, in] and bias [out] in the layout that oneDNN's matmul asks for. Immutable, shared by
/// threads.
class PackedLinear {
 public:
  /// `rows`: how many rows of src to expect, a hint for the layout. `out_scale`, if not empty, multiplies
  /// every output: W and b are scaled before packing (layer scale, 1/√d of the queries).
  PackedLinear(const LinearWeights& weights, std::int64_t rows, std::span<const float> out_scale = {});
  ~PackedLinear();
  PackedLinear(PackedLinear&&) noexcept;
  PackedLinear& operator=(PackedLinear&&) noexcept;

  std::int64_t in() const { return in_; }
  std::int64_t out() const { return out_; }

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  std::int64_t in_ = 0;
  std::int64_t out_ = 0;
  std::unique_ptr<Impl> impl_;
};

/// What follows the product.
struct Epilogue {
  std::optional<Activation> activation;  ///< applied to src Wᵀ + b; not together with the others
  bool accumulate = false;               ///< add to what dst holds (the residual connection)
  bool multiply = false;                 ///< by a factor [rows, out] (the gate of a gated MLP)
};

/// The kernel for a number of rows, for all weights that have the shape of `like`.
class Linear {
 public:
  Linear(Context& context, std::int64_t rows, const PackedLinear& like, const Epilogue& epilogue = {});
  ~Linear();
  Linear(Linear&&) noexcept;

  /// src [rows, in], dst [rows, out].
  void run(const float* src, const PackedLinear& weights, float* dst);
  /// With `multiply`: factor [rows, out], not dst itself.
  void run_times(const float* factor, const float* src, const PackedLinear& weights, float* dst);

  const std::string& kernel() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vit::backend
