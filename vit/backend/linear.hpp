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
#include "vit/large_memory.hpp"
#include "vit/precision.hpp"
#include "vit/values.hpp"
#include "vit/weights.hpp"

namespace vit::backend {

/// How weights are laid out, and where.
struct Packing {
  Packing(std::int64_t expected_rows, Precision of_weights = Precision::fp32,
          LargeMemoryPool* memory = nullptr)
      : rows(expected_rows), precision(of_weights), pool(memory) {}

  std::int64_t rows;  ///< of src to expect, a hint for the layout
  Precision precision;
  LargeMemoryPool* pool;  ///< outlives the layer; null: the layer has memory of its own
};

/// Weights [out, in] and bias [out] in the layout that oneDNN's matmul asks for. Immutable, shared by
/// threads.
class PackedLinear {
 public:
  /// `out_scale`, if not empty, multiplies every output: W and b are scaled before packing (layer scale, 1/√d
  /// of the queries). For int8 the weights of each output are 255 levels of a common scale: stored ones, or W
  /// rounded before it is scaled.
  PackedLinear(const LinearWeights& weights, const Packing& packing, std::span<const float> out_scale = {});
  ~PackedLinear();
  PackedLinear(PackedLinear&&) noexcept;
  PackedLinear& operator=(PackedLinear&&) noexcept;

  std::int64_t in() const { return in_; }
  std::int64_t out() const { return out_; }
  Precision precision() const { return precision_; }

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  std::int64_t in_ = 0;
  std::int64_t out_ = 0;
  Precision precision_ = Precision::fp32;
  std::unique_ptr<Impl> impl_;
};

/// What follows the product.
struct Epilogue {
  std::optional<Activation> activation;  ///< applied to src Wᵀ + b; not together with the others
  bool accumulate = false;               ///< add to what dst holds (the residual connection), which is f32
  bool multiply = false;                 ///< by a factor [rows, out] (the gate of a gated MLP)
};

/// What a layer reads and writes. Where the product reads something else, src is rounded for it first.
struct LinearTypes {
  ValueType src = ValueType::f32;
  ValueType dst = ValueType::f32;  ///< u8 only with int8 weights
};

/// The kernel for a number of rows, for all weights that have the shape and precision of `like`.
class Linear {
 public:
  Linear(Context& context, std::int64_t rows, const PackedLinear& like, const Epilogue& epilogue = {},
         const LinearTypes& types = {});
  ~Linear();
  Linear(Linear&&) noexcept;

  /// src [rows, in], dst [rows, out], of the types that the constructor was given.
  void run(ConstValues src, const PackedLinear& weights, Values dst);
  /// With `multiply`: factor [rows, out], not dst itself; f32 with int8 weights, else of the type of dst.
  void run_times(ConstValues factor, ConstValues src, const PackedLinear& weights, Values dst);

  const std::string& kernel() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vit::backend
