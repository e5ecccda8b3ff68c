// The arithmetic of a network's matrix products.
#pragma once

#include <string>
#include <string_view>

namespace vit {

/// What the products of the encoder blocks are computed in. Norms, softmax, the residual stream and the head
/// stay in f32 in all of them.
enum class Precision {
  fp32,
  bf16,  ///< operands rounded to bfloat16, sums in f32
  int8,  ///< 8-bit operands: weights with a scale per output, activations with one per token; sums exact
};

/// "fp32", "bf16", "int8"
std::string_view to_string(Precision precision);

/// Why this processor computes in fp32 where a precision is asked for, naming the instructions that it lacks;
/// empty if it has them.
std::string processor_shortage(Precision precision);

}  // namespace vit
