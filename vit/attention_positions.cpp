#include "vit/attention_positions.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace vit {
namespace {

/// The angle of row (or column) i of n, but for the frequency.
double turn(const ModelConfig& config, std::int64_t i, std::int64_t n, std::int64_t reference) {
  const double at = static_cast<double>(i) + config.rotary_offset;
  const auto size = static_cast<double>(n);
  if (config.rotary == RotaryEmbedding::centred) return 2 * std::numbers::pi * (2 * (at + 0.5) / size - 1);
  return reference == 0 ? at : at / size * static_cast<double>(reference);
}

/// The two source rows (or columns) of a destination, half-pixel centres, and how much the second one counts.
struct LinearTap {
  std::int64_t first;
  std::int64_t second;
  double weight;
};

LinearTap linear_tap(std::int64_t i, std::int64_t from, std::int64_t to) {
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  const double centre = std::max((static_cast<double>(i) + 0.5) * ratio - 0.5, 0.0);
  const auto first = std::min(static_cast<std::int64_t>(centre), from - 1);
  return {first, std::min(first + 1, from - 1), centre - static_cast<double>(first)};
}

}  // namespace

backend::RotaryTable rotary_table(const ModelConfig& config, Size2 grid) {
  const std::int64_t quarter = config.head_size() / 4;
  backend::RotaryTable table{Tensor({grid.height * grid.width, 2 * quarter}),
                             Tensor({grid.height * grid.width, 2 * quarter})};
  float* cosine = table.cosines.data();
  float* sine = table.sines.data();
  for (std::int64_t y = 0; y < grid.height; ++y) {
    for (std::int64_t x = 0; x < grid.width; ++x) {
      for (std::int64_t pair = 0; pair < 2 * quarter; ++pair) {
        const bool row = (pair < quarter) == (config.rotary_order == RotaryOrder::rows_first);
        const double exponent = static_cast<double>(pair % quarter) / static_cast<double>(quarter);
        const double angle = (row ? turn(config, y, grid.height, config.rotary_grid.height)
                                  : turn(config, x, grid.width, config.rotary_grid.width)) /
                             std::pow(config.rotary_theta, exponent);
        *cosine++ = static_cast<float>(std::cos(angle));
        *sine++ = static_cast<float>(std::sin(angle));
      }
    }
  }
  return table;
}

Tensor relative_table(const WeightView& own, const WeightView& shared) {
  if (own.empty()) return shared.empty() ? Tensor() : shared.to_tensor();
  Tensor table = own.to_tensor();
  if (shared.empty()) return table;
  const Tensor more = shared.to_tensor();
  for (std::int64_t i = 0; i < table.size(); ++i) table.data()[i] += more.data()[i];
  return table;
}

// transformers' BEiT takes the table for one of [2 columns − 1, 2 rows − 1] numbers, which matters where the
// grid it was made for is not square; the reference is followed.
Tensor resample_relative_positions(const ModelConfig& config, const Tensor& table, Size2 grid) {
  const Size2 own = config.grid(config.image_size);
  if (config.relative_resampling == RelativeResampling::none) return table.clone();
  const Size2 from{2 * own.width - 1, 2 * own.height - 1};
  const Size2 to{2 * grid.height - 1, 2 * grid.width - 1};
  const std::int64_t h = table.shape()[1];
  Tensor result({to.height * to.width + 3, h});
  float* next = result.data();
  for (std::int64_t y = 0; y < to.height; ++y) {
    const LinearTap row = linear_tap(y, from.height, to.height);
    for (std::int64_t x = 0; x < to.width; ++x) {
      const LinearTap column = linear_tap(x, from.width, to.width);
      const auto at = [&](std::int64_t i, std::int64_t j, std::int64_t head) {
        return static_cast<double>(table.data()[(i * from.width + j) * h + head]);
      };
      for (std::int64_t head = 0; head < h; ++head) {
        const double upper =
            std::lerp(at(row.first, column.first, head), at(row.first, column.second, head), column.weight);
        const double lower =
            std::lerp(at(row.second, column.first, head), at(row.second, column.second, head), column.weight);
        *next++ = static_cast<float>(std::lerp(upper, lower, row.weight));
      }
    }
  }
  std::copy_n(table.data() + table.size() - 3 * h, 3 * h, next);
  return result;
}

AttentionPositions::AttentionPositions(const ModelConfig& config, const Model::Packed& weights, Size2 image) {
  const Size2 grid = config.grid(image);
  if (config.rotary != RotaryEmbedding::none) rotary = rotary_table(config, grid);
  if (config.relative_positions == RelativePositions::none) return;
  for (const PackedBlock& block : weights.blocks) {
    relative.emplace_back(resample_relative_positions(config, block.relative_positions, grid), grid);
  }
}

}  // namespace vit
