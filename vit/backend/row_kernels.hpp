// Loops over one row of numbers, in the widest registers that this processor has. For what oneDNN has no
// primitive for: a softmax whose division waits until after the product, and activations rounded to 8 bits
// with a scale for each token.
#pragma once

#include <cstdint>
#include <vector>

#include "vit/values.hpp"

namespace vit::backend {

/// bfloat16 as it lies in memory.
using bf16_t = std::uint16_t;

/// Activations that dequantise_activate() knows.
enum class RowActivation { none, gelu, gelu_tanh, quick_gelu, relu, silu };

/// A row of sums as an int8 product leaves it, and what makes it the row that a layer computes:
/// y[i] = act((sums[i] − zero · zero_sums[i]) · scale + bias[i]).
struct QuantisedSums {
  const float* sums;       ///< Σ q w, times the scale of output i
  RowScale input;          ///< of the row that was multiplied
  const float* zero_sums;  ///< Σ w, times the scale of output i
  const float* bias;       ///< zeros where there is none
  std::int64_t size;
};

/// Rows of equal length, some distance apart.
struct RowSet {
  const float* first;
  std::int64_t count;
  std::int64_t stride;  ///< elements from row to row
};

struct RowMatch {
  float product;
  std::int64_t row;
};

/// None of them allocates; rows may have any alignment.
struct RowKernels {
  /// p = exp(x − max x), the sum of which is returned. x and p may be the same.
  float (*exponentials)(const float* x, std::int64_t size, float* p);
  float (*exponentials_bf16)(const float* x, std::int64_t size, bf16_t* p);
  /// p = w exp(x − max x), the same otherwise: exp(x + ln w) without the logarithm.
  float (*weighted_exponentials)(const float* x, std::int64_t size, const float* w, float* p);
  float (*weighted_exponentials_bf16)(const float* x, std::int64_t size, const float* w, bf16_t* p);

  /// y = x · factor
  void (*scale)(const float* x, std::int64_t size, float factor, float* y);
  void (*scale_bf16)(const float* x, std::int64_t size, float factor, bf16_t* y);

  /// The row that has the largest product with x, the first of equal ones. A product that is no number is
  /// smaller than all others; where there is no other the result is −∞ of row 0.
  RowMatch (*best_match)(const float* x, std::int64_t size, const RowSet& rows);

  /// Rounds to 256 levels between the smallest and the largest number of the row and zero, which is exact. A
  /// row that is not finite has NaN for its scale.
  RowScale (*quantise)(const float* x, std::int64_t size, std::uint8_t* q);
  RowScale (*quantise_bf16)(const bf16_t* x, std::int64_t size, std::uint8_t* q);

  /// y = γ (x − mean(x)) / √(var(x) + ε) + β. x and y may be the same.
  void (*layer_norm)(const float* x, std::int64_t size, const float* gamma, const float* beta, float epsilon,
                     float* y);

  /// y = the row; y may be its sums.
  void (*dequantise)(const QuantisedSums& row, RowActivation activation, float* y);
  void (*dequantise_bf16)(const QuantisedSums& row, RowActivation activation, bf16_t* y);
  /// y = y + the row
  void (*dequantise_add)(const QuantisedSums& row, float* y);
};

/// Those for this processor.
const RowKernels& row_kernels();

/// The same loops, compiled for one instruction set.
struct RowKernelVariant {
  const char* name;
  RowKernels kernels;
};

/// All that this processor can run, the best first.
std::vector<RowKernelVariant> all_row_kernels();

}  // namespace vit::backend
