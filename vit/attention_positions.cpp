#include "vit/attention_positions.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

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

/// Where timm sees the source points of a table that it resizes: 1, 1 + q, 1 + q + q² … from the middle, with
/// the q for which the last one of from / 2 is to / 2 away, found by halving [1.01, 1.5] until 1e-6 is left.
std::vector<float> geometric_points(std::int64_t from, std::int64_t to) {
  const auto n = static_cast<double>(from / 2);
  double left = 1.01;
  double right = 1.5;
  double q = left;
  while (right - left > 1e-6) {
    q = (left + right) / 2;
    const bool too_far = (1 - std::pow(q, n)) / (1 - q) > static_cast<double>(to / 2);
    (too_far ? right : left) = q;
  }
  std::vector<float> points(static_cast<std::size_t>(from), 0.0F);
  double distance = 1;
  for (std::int64_t i = 1; i <= from / 2; ++i) {
    points[static_cast<std::size_t>(from / 2 + i)] = static_cast<float>(distance);
    points[static_cast<std::size_t>(from / 2 - i)] = -static_cast<float>(distance);
    distance += std::pow(q, static_cast<double>(i));
  }
  return points;
}

/// Destination i of an odd number stands i − to / 2 from the middle. Beyond the outermost points their values
/// go on.
LinearTap geometric_tap(std::int64_t i, const std::vector<float>& points, std::int64_t to) {
  const auto at = static_cast<float>(i - to / 2);
  const auto last = std::ssize(points) - 1;
  const auto right =
      std::min<std::int64_t>(std::lower_bound(points.begin(), points.end(), at) - points.begin(), last);
  const std::int64_t left = std::max<std::int64_t>(right - 1, 0);
  const float from_left = std::max(at - points[static_cast<std::size_t>(left)], 0.0F);
  const float to_right = std::max(points[static_cast<std::size_t>(right)] - at, 0.0F);
  if (from_left == 0 && to_right == 0) return {left, right, 0.5};
  return {left, right,
          static_cast<double>(from_left) / (static_cast<double>(from_left) + static_cast<double>(to_right))};
}

/// The taps of one axis by the config's rule.
std::vector<LinearTap> relative_taps(RelativeResampling rule, std::int64_t from, std::int64_t to) {
  const bool geometric = rule == RelativeResampling::geometric;
  const std::vector<float> points = geometric ? geometric_points(from, to) : std::vector<float>();
  std::vector<LinearTap> taps;
  for (std::int64_t i = 0; i < to; ++i)
    taps.push_back(geometric ? geometric_tap(i, points, to) : linear_tap(i, from, to));
  return taps;
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

backend::RotaryTable mixed_rotary_table(const ModelConfig& config, const Tensor& frequencies,
                                        std::int64_t block, Size2 grid) {
  const std::int64_t pairs = config.head_size() / 2;
  const std::int64_t h = config.num_heads;
  const Shape shape{h, grid.height * grid.width, pairs};
  backend::RotaryTable table{Tensor(shape), Tensor(shape)};
  float* cosine = table.cosines.data();
  float* sine = table.sines.data();
  for (std::int64_t head = 0; head < h; ++head) {
    const float* const first = frequencies.data() + (block * h + head) * pairs;
    const float* const second = first + config.num_layers * h * pairs;
    const bool rows_first = config.rotary_order == RotaryOrder::rows_first;
    const float* const of_rows = rows_first ? first : second;
    const float* const of_columns = rows_first ? second : first;
    for (std::int64_t i = 0; i < grid.height * grid.width; ++i) {
      const double y = static_cast<double>(i / grid.width) + config.rotary_offset;
      const double x = static_cast<double>(i % grid.width) + config.rotary_offset;
      for (std::int64_t pair = 0; pair < pairs; ++pair) {
        const double angle =
            y * static_cast<double>(of_rows[pair]) + x * static_cast<double>(of_columns[pair]);
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
  if (config.relative_resampling == RelativeResampling::geometric && grid == own) return table.clone();
  const bool transposed = config.relative_resampling == RelativeResampling::bilinear;
  const Size2 from{2 * (transposed ? own.width : own.height) - 1,
                   2 * (transposed ? own.height : own.width) - 1};
  const Size2 to{2 * grid.height - 1, 2 * grid.width - 1};
  const std::int64_t h = table.shape()[1];
  Tensor result({to.height * to.width + 3, h});
  float* next = result.data();
  const std::vector<LinearTap> rows = relative_taps(config.relative_resampling, from.height, to.height);
  const std::vector<LinearTap> columns = relative_taps(config.relative_resampling, from.width, to.width);
  for (std::int64_t y = 0; y < to.height; ++y) {
    const LinearTap& row = rows[static_cast<std::size_t>(y)];
    for (std::int64_t x = 0; x < to.width; ++x) {
      const LinearTap& column = columns[static_cast<std::size_t>(x)];
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
  if (config.rotary == RotaryEmbedding::mixed) {
    for (std::int64_t i = 0; i < config.num_layers; ++i)
      rotary.push_back(mixed_rotary_table(config, weights.rotary_frequencies, i, grid));
  } else if (config.rotary != RotaryEmbedding::none) {
    rotary.push_back(rotary_table(config, grid));
  }
  if (config.relative_positions == RelativePositions::none) return;
  for (const PackedBlock& block : weights.blocks) {
    relative.emplace_back(resample_relative_positions(config, block.relative_positions, grid), grid);
  }
}

}  // namespace vit
