// Weights as 8-bit integers with a scale for each output: how they are rounded, and which are.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "vit/config.hpp"
#include "vit/precision.hpp"
#include "vit/weights.hpp"

namespace vit {

/// A matrix [rows, columns] whose numbers are scales[row] · levels[row, column]. Move-only.
struct QuantisedMatrix {
  QuantisedMatrix() = default;
  QuantisedMatrix(QuantisedMatrix&&) noexcept = default;
  QuantisedMatrix& operator=(QuantisedMatrix&&) noexcept = default;

  std::span<const std::int8_t> levels;  ///< [rows, columns]: of `storage`, or as they lie in their file
  std::vector<float> scales;            ///< [rows]
  std::vector<std::int8_t> storage;
};

/// Rounds the numbers of each row to −127 … 127 times a scale of its own, the largest magnitude / 127. Rows
/// that are stored as such are taken as they are, bit for bit. A row with a NaN or an infinity has the scale
/// NaN, so that what is computed with it shows it.
QuantisedMatrix quantise(const WeightView& matrix);

/// Whether a tensor of the table, by its canonical name and shape, is one of those that --precision int8
/// rounds to 8 bits: the matrices of the blocks. Embeddings, tables, norms, biases, layer scales and heads
/// are not.
bool is_quantisable(std::string_view name, const Shape& shape);

/// What weights are meant to be computed with: int8 if some of the blocks' matrices are stored as 8-bit
/// integers, else fp32.
Precision stored_precision(const ModelConfig& config, const Weights& weights);

}  // namespace vit
