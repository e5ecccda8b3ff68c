#include "vit/quantised.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace vit {
namespace {

constexpr float kLargestLevel = 127;

/// Gives the scale.
float quantise_row(const float* row, std::int64_t size, std::int8_t* levels) {
  float largest = 0;
  bool finite = true;
  for (std::int64_t i = 0; i < size; ++i) {
    const float magnitude = std::abs(row[i]);
    finite = finite && magnitude <= std::numeric_limits<float>::max();
    largest = std::max(largest, magnitude);
  }
  if (!finite || largest == 0) {
    std::fill_n(levels, size, std::int8_t{0});
    return finite ? 1.0F : std::numeric_limits<float>::quiet_NaN();
  }
  const float scale = std::max(largest / kLargestLevel, std::numeric_limits<float>::min());  // not subnormal
  for (std::int64_t i = 0; i < size; ++i) levels[i] = static_cast<std::int8_t>(std::lrint(row[i] / scale));
  return scale;
}

/// Rows [begin, …) of a matrix are this part.
void quantise_part(const WeightPart& part, std::int64_t columns, float* scales, std::int8_t* levels) {
  const std::int64_t rows = part.size / columns;
  if (part.transposed_rows != 0) {
    const Tensor plain = WeightView{{rows, columns}, {part}}.to_tensor();
    for (std::int64_t row = 0; row < rows; ++row)
      scales[row] = quantise_row(plain.data() + row * columns, columns, levels + row * columns);
    return;
  }
  std::vector<float> plain(static_cast<std::size_t>(columns));
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::byte* const data = part.data + row * columns * size_of(part.dtype);
    WeightView{{1, columns}, {{data, part.dtype, columns}}}.copy_to(plain.data());
    scales[row] = quantise_row(plain.data(), columns, levels + row * columns);
  }
}

}  // namespace

QuantisedMatrix quantise(const WeightView& matrix) {
  const std::int64_t columns = matrix.row_size();
  QuantisedMatrix result;
  result.scales.resize(static_cast<std::size_t>(matrix.shape.front()));
  const bool in_place = matrix.parts.size() == 1 && matrix.parts.front().dtype == DType::i8;
  if (!in_place) result.storage.resize(static_cast<std::size_t>(matrix.size()));
  float* scales = result.scales.data();
  std::int8_t* levels = result.storage.data();
  for (const WeightPart& part : matrix.parts) {
    const std::int64_t rows = part.size / columns;
    if (part.dtype == DType::i8) {
      std::copy_n(part.row_scales, rows, scales);
      if (!in_place) std::memcpy(levels, part.data, static_cast<std::size_t>(part.size));
    } else {
      quantise_part(part, columns, scales, levels);
    }
    scales += rows;
    levels += in_place ? 0 : part.size;
  }
  result.levels = in_place ? std::span(reinterpret_cast<const std::int8_t*>(matrix.parts.front().data),
                                       static_cast<std::size_t>(matrix.size()))
                           : std::span<const std::int8_t>(result.storage);
  return result;
}

bool is_quantisable(std::string_view name, const Shape& shape) {
  return shape.size() == 2 && name.starts_with("blocks.") && name.ends_with(".weight");
}

Precision stored_precision(const ModelConfig& config, const Weights& weights) {
  Weights views = weights;
  bool any = false;
  for_each_tensor(config, views, [&](const TensorSpec&, const WeightView& view) {
    any = any || std::any_of(view.parts.begin(), view.parts.end(),
                             [](const WeightPart& part) { return part.dtype == DType::i8; });
  });
  return any ? Precision::int8 : Precision::fp32;
}

}  // namespace vit
