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

/// A weight that initializers are made from. Keeps the memory behind it.
struct StoredWeight {
  WeightView view;
  std::shared_ptr<const void> storage;
  std::function<void()> release_pages;  ///< see Weights

  /// f32, as the table has it.
  Fill as_f32() const;
  Fill as_f16() const;
  /// f32, [out, in] -> [in, out]
  Fill transposed_f32() const;
  Fill transposed_f16() const;
  /// Rounded to [-127, 127] per row of [out, in] (output channel), as it is or transposed.
  Fill as_i8() const;
  Fill transposed_i8() const;
  /// What such a byte stands for: [out] f32, largest magnitude of the row / 127.
  Fill i8_scales() const;

 private:
  Tensor read() const;
  std::vector<std::uint16_t> read_f16() const;
  std::vector<std::int8_t> read_i8() const;
};

/// Nearest f16, ties to even; infinite beyond its range.
std::uint16_t to_f16(float value);

/// The largest magnitude; NaN or infinity if there is any.
float largest_magnitude(const WeightView& view);

}  // namespace vit::exporter
