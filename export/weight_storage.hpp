// Weights as the bytes of initializers: transposed, rounded to f16 or to 8 bits. Internal to export/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "vit/weights.hpp"

namespace vit::exporter {

using Fill = std::function<void(std::byte* dst)>;

/// What 8-bit weights are rounded to. Symmetric: −128 is not used, so that a weight and its negative round
/// alike.
inline constexpr float kI8Max = 127.0F;
/// The same where they are multiplied with 8-bit activations: processors without VNNI add two products of a
/// byte up to 255 and a weight in 16 bits, and 2 · 255 · 64 < 2^15. Runtimes do not prevent that the sum
/// saturates.
inline constexpr float kI8MaxOfProducts = 64.0F;

/// A weight that initializers are made from. Keeps the memory behind it.
struct StoredWeight {
  WeightView view;
  std::shared_ptr<const void> storage;
  std::function<void()> release_pages;  ///< see Weights
  float i8_max = kI8Max;                ///< largest magnitude of what as_i8() gives

  /// f32, as the table has it.
  Fill as_f32() const;
  Fill as_f16() const;
  /// f32, [out, in] -> [in, out]
  Fill transposed_f32() const;
  Fill transposed_f16() const;
  /// Rounded to [-i8_max, i8_max] per row of [out, in] (output channel), as it is or transposed.
  Fill as_i8() const;
  Fill transposed_i8() const;
  /// What such a byte stands for: [out] f32, largest magnitude of the row / i8_max.
  Fill i8_scales() const;

 private:
  Tensor read() const;
  std::vector<std::uint16_t> read_f16() const;
  std::vector<std::int8_t> read_i8() const;
};

/// The largest magnitude; NaN or infinity if there is any.
float largest_magnitude(const WeightView& view);

}  // namespace vit::exporter
