// Whether a reduced precision may be used: the processor has it, and its products are right. Internal to
// vit/.
#pragma once

#include <string>

#include "vit/config.hpp"
#include "vit/precision.hpp"
#include "vit/tensor.hpp"
#include "vit/values.hpp"
#include "vit/weights.hpp"

namespace vit {

/// The products that are compared: the engine's, or wrong ones in tests.
struct CheckedProducts {
  /// src Wᵀ + b of src [rows, in]
  Tensor (*linear)(const LinearWeights& weights, const Tensor& src, Precision precision);
  /// The context of qkv [T, 3 D], multiplied in a type.
  Tensor (*attention)(const ModelConfig& config, const Tensor& qkv, ValueType products);
};

/// The engine's.
CheckedProducts engine_products();

/// Why the precision cannot be used for this network; empty if it can. The products of the first block's
/// layers are compared with the same in fp32, on a few rows.
std::string why_not(Precision precision, const ModelConfig& config, const Weights& weights,
                    const CheckedProducts& products = engine_products());

}  // namespace vit
