#include "export/weight_storage.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "vit/half.hpp"

namespace vit::exporter {
namespace {

std::int64_t rows_of(const WeightView& view) {
  return view.shape.front();
}

std::int64_t columns_of(const WeightView& view) {
  return rows_of(view) == 0 ? 0 : view.size() / rows_of(view);
}

/// src [rows, columns] -> dst [columns, rows]; dst may be of any alignment.
template <class T>
void transpose(const T* src, std::int64_t rows, std::int64_t columns, std::byte* dst) {
  constexpr std::int64_t kTile = 64;
  for (std::int64_t r0 = 0; r0 < rows; r0 += kTile) {
    for (std::int64_t c0 = 0; c0 < columns; c0 += kTile) {
      for (std::int64_t c = c0; c < std::min(columns, c0 + kTile); ++c) {
        for (std::int64_t r = r0; r < std::min(rows, r0 + kTile); ++r) {
          std::memcpy(dst + (c * rows + r) * static_cast<std::int64_t>(sizeof(T)), src + r * columns + c,
                      sizeof(T));
        }
      }
    }
  }
}

float row_scale(const float* row, std::int64_t columns, float i8_max) {
  float largest = 0;
  for (std::int64_t c = 0; c < columns; ++c) largest = std::max(largest, std::fabs(row[c]));
  return largest > 0 ? largest / i8_max : 1.0F;
}

}  // namespace

float largest_magnitude(const WeightView& view) {
  const Tensor values = view.to_tensor();
  float largest = 0;
  for (const float value : values.elements()) {
    if (!std::isfinite(value)) return value;
    largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

Tensor StoredWeight::read() const {
  Tensor values = view.to_tensor();
  if (release_pages) release_pages();
  return values;
}

std::vector<std::uint16_t> StoredWeight::read_f16() const {
  const Tensor values = read();
  std::vector<std::uint16_t> halves(static_cast<std::size_t>(view.size()));
  std::transform(values.data(), values.data() + view.size(), halves.begin(), to_f16);
  return halves;
}

std::vector<std::int8_t> StoredWeight::read_i8() const {
  const Tensor values = read();
  const std::int64_t columns = columns_of(view);
  std::vector<std::int8_t> bytes(static_cast<std::size_t>(view.size()));
  for (std::int64_t r = 0; r < rows_of(view); ++r) {
    const float* row = values.data() + r * columns;
    const float scale = row_scale(row, columns, i8_max);
    for (std::int64_t c = 0; c < columns; ++c) {
      const float rounded = std::nearbyint(row[c] / scale);
      bytes[static_cast<std::size_t>(r * columns + c)] =
          static_cast<std::int8_t>(std::clamp(rounded, -i8_max, i8_max));
    }
  }
  return bytes;
}

Fill StoredWeight::as_f32() const {
  return [*this](std::byte* dst) {
    const Tensor values = read();
    std::memcpy(dst, values.data(), static_cast<std::size_t>(values.size()) * sizeof(float));
  };
}

Fill StoredWeight::as_f16() const {
  return [*this](std::byte* dst) {
    const std::vector<std::uint16_t> halves = read_f16();
    std::memcpy(dst, halves.data(), halves.size() * sizeof(std::uint16_t));
  };
}

Fill StoredWeight::transposed_f32() const {
  return [*this](std::byte* dst) { transpose(read().data(), rows_of(view), columns_of(view), dst); };
}

Fill StoredWeight::transposed_f16() const {
  return [*this](std::byte* dst) { transpose(read_f16().data(), rows_of(view), columns_of(view), dst); };
}

Fill StoredWeight::as_i8() const {
  return [*this](std::byte* dst) {
    const std::vector<std::int8_t> bytes = read_i8();
    std::memcpy(dst, bytes.data(), bytes.size());
  };
}

Fill StoredWeight::transposed_i8() const {
  return [*this](std::byte* dst) { transpose(read_i8().data(), rows_of(view), columns_of(view), dst); };
}

Fill StoredWeight::i8_scales() const {
  return [*this](std::byte* dst) {
    const Tensor values = read();
    const std::int64_t columns = columns_of(view);
    for (std::int64_t r = 0; r < rows_of(view); ++r) {
      const float scale = row_scale(values.data() + r * columns, columns, i8_max);
      std::memcpy(dst + r * static_cast<std::int64_t>(sizeof scale), &scale, sizeof scale);
    }
  };
}

}  // namespace vit::exporter
