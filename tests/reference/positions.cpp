#include "tests/reference/positions.hpp"

#include <algorithm>
#include <cmath>

namespace vit::reference {
namespace {

/// Keys 1981, equation 15, for any a.
double cubic_kernel(double distance) {
  const double a = -0.75;
  const double x = std::abs(distance);
  if (x < 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  if (x < 2) return a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a;
  return 0;
}

/// [to, from]: how much source pixel j counts for destination pixel i.
Array resampling_matrix(std::int64_t from, std::int64_t to) {
  Array matrix({to, from});
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre =
        (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
    for (std::int64_t j = -4; j < from + 4; ++j) {  // j beyond the edges: copies of the edge pixels
      const std::int64_t inside = std::clamp<std::int64_t>(j, 0, from - 1);
      matrix(i, inside) += cubic_kernel(static_cast<double>(j) - centre);
    }
  }
  return matrix;
}

}  // namespace

Array resample_bicubic(const Array& grid, Size2 to) {
  const std::int64_t D = grid.dim(2);
  const Array rows = resampling_matrix(grid.dim(0), to.height);
  const Array columns = resampling_matrix(grid.dim(1), to.width);
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
  const std::int64_t D = table.dim(2);
  const Size2 from{config.image_size.height / config.patch_size.height,
                   config.image_size.width / config.patch_size.width};
  const Size2 to{image.height / config.patch_size.height, image.width / config.patch_size.width};
  const auto patches_begin = table.values.begin() + D;  // behind the class token's position
  const Array grid({from.height, from.width, D}, {patches_begin, table.values.end()});
  const Array resampled = from == to ? grid : resample_bicubic(grid, to);
  Array result({1 + to.height * to.width, D}, {table.values.begin(), patches_begin});
  result.values.insert(result.values.end(), resampled.values.begin(), resampled.values.end());
  return result;
}

}  // namespace vit::reference
