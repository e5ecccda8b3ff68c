#include "tests/reference/positions.hpp"

#include <algorithm>
#include <cmath>

namespace vit::reference {
namespace {

/// Keys 1981, equation 15, for any a.
double cubic_kernel(double a, double distance) {
  const double x = std::abs(distance);
  if (x < 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  if (x < 2) return a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a;
  return 0;
}

/// [to, from]: how much source pixel j counts for destination pixel i. Edge pixels go on without end.
Array interpolation_matrix(std::int64_t from, std::int64_t to) {
  Array matrix({to, from});
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre =
        (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
    for (std::int64_t j = -4; j < from + 4; ++j) {  // j beyond the edges: copies of the edge pixels
      const std::int64_t inside = std::clamp<std::int64_t>(j, 0, from - 1);
      matrix(i, inside) += cubic_kernel(-0.75, static_cast<double>(j) - centre);
    }
  }
  return matrix;
}

/// The same for a kernel that is as wide as the shrinking wants it; pixels that are not there do not count.
Array antialias_matrix(std::int64_t from, std::int64_t to) {
  Array matrix({to, from});
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * ratio - 0.5;
    double total = 0;
    for (std::int64_t j = 0; j < from; ++j) {
      matrix(i, j) = cubic_kernel(-0.5, (static_cast<double>(j) - centre) / std::max(ratio, 1.0));
      total += matrix(i, j);
    }
    for (std::int64_t j = 0; j < from; ++j) matrix(i, j) /= total;
  }
  return matrix;
}

}  // namespace

Array resample(PositionResampling rule, const Array& grid, Size2 to) {
  const std::int64_t D = grid.dim(2);
  const auto matrix = rule == PositionResampling::bicubic_antialias ? antialias_matrix : interpolation_matrix;
  const Array rows = matrix(grid.dim(0), to.height);
  const Array columns = matrix(grid.dim(1), to.width);
  Array result({to.height, to.width, D});
  for (std::int64_t y = 0; y < to.height; ++y) {
    for (std::int64_t x = 0; x < to.width; ++x) {
      for (std::int64_t j = 0; j < grid.dim(0); ++j) {
        for (std::int64_t i = 0; i < grid.dim(1); ++i) {
          const double weight = rows(y, j) * columns(x, i);
          if (weight == 0) continue;
          for (std::int64_t d = 0; d < D; ++d) result(y, x, d) += weight * grid(j, i, d);
        }
      }
    }
  }
  return result;
}

Array positions(const ModelConfig& config, const Array& table, Size2 image) {
  const std::int64_t D = config.hidden_size;
  const Size2 from{config.image_size.height / config.patch_size.height,
                   config.image_size.width / config.patch_size.width};
  const Size2 to{image.height / config.patch_size.height, image.width / config.patch_size.width};
  const std::int64_t prefix = config.num_prefix_tokens();
  Array result({prefix + to.height * to.width, D});
  if (table.empty()) return result;  // zeros
  // Which rows of the table belong to prefix tokens: what is left when the patches have theirs.
  const std::int64_t rows = table.dim(1) - from.height * from.width;
  const auto patches_begin = table.values.begin() + rows * D;
  std::copy(table.values.begin(), patches_begin, result.values.begin());
  const Array grid({from.height, from.width, D}, {patches_begin, table.values.end()});
  const Array resampled = from == to ? grid : resample(config.position_resampling, grid, to);
  std::copy(resampled.values.begin(), resampled.values.end(), result.values.begin() + prefix * D);
  return result;
}

}  // namespace vit::reference
