#include "tests/reference/positions.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

namespace vit::reference {
namespace {

/// Keys 1981, equation 15, for any a.
double cubic_kernel(double a, double distance) {
  const double x = std::abs(distance);
  if (x < 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  if (x < 2) return a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a;
  return 0;
}

/// Where the centre of destination pixel i lies, in source pixels counted from the centre of the first.
double centre_of(PositionResampling rule, std::int64_t i, std::int64_t from, std::int64_t to) {
  const auto m = static_cast<double>(from);
  const auto n = static_cast<double>(to);
  const auto at = static_cast<double>(i);
  if (rule == PositionResampling::bicubic_aligned) return to > 1 ? at / (n - 1) * (m - 1) : 0;
  if (rule == PositionResampling::bicubic_offset) return (at + 0.5) * m / (n + 0.1) - 0.5;
  return (at + 0.5) * m / n - 0.5;
}

/// [to, from]: how much source pixel j counts for destination pixel i. Edge pixels go on without end.
Array interpolation_matrix(PositionResampling rule, std::int64_t from, std::int64_t to) {
  Array matrix({to, from});
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = centre_of(rule, i, from, to);
    for (std::int64_t j = -4; j < from + 4; ++j) {  // j beyond the edges: copies of the edge pixels
      const std::int64_t inside = std::clamp<std::int64_t>(j, 0, from - 1);
      matrix(i, inside) += cubic_kernel(-0.75, static_cast<double>(j) - centre);
    }
  }
  return matrix;
}

/// The same for a kernel that is as wide as the shrinking wants it; pixels that are not there do not count.
Array antialias_matrix(PositionResampling, std::int64_t from, std::int64_t to) {
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

/// The same for straight lines between neighbours.
Array linear_matrix(std::int64_t from, std::int64_t to) {
  Array matrix({to, from});
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre =
        std::clamp((static_cast<double>(i) + 0.5) * ratio - 0.5, 0.0, static_cast<double>(from - 1));
    for (std::int64_t j = 0; j < from; ++j)
      matrix(i, j) = std::max(0.0, 1 - std::abs(static_cast<double>(j) - centre));
  }
  return matrix;
}

/// grid [H, W, D] by the matrices of its axes.
Array apply(const Array& grid, const Array& rows, const Array& columns) {
  const std::int64_t D = grid.dim(2);
  Array result({rows.dim(0), columns.dim(0), D});
  for (std::int64_t y = 0; y < rows.dim(0); ++y) {
    for (std::int64_t x = 0; x < columns.dim(0); ++x) {
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

double angle_of(const ModelConfig& config, std::int64_t i, std::int64_t n, std::int64_t reference) {
  const double at = static_cast<double>(i) + config.rotary_offset;
  const auto size = static_cast<double>(n);
  if (config.rotary == RotaryEmbedding::centred) return 2 * std::numbers::pi * (2 * (at + 0.5) / size - 1);
  return at * (reference == 0 ? 1 : static_cast<double>(reference) / size);
}

struct Pair {
  std::int64_t head;
  std::int64_t pair;
};

double learned_angle(const ModelConfig& config, const LearnedAngles& learned, std::int64_t patch,
                     const Pair& at, Size2 grid) {
  const double y = static_cast<double>(patch / grid.width) + config.rotary_offset;
  const double x = static_cast<double>(patch % grid.width) + config.rotary_offset;
  const bool rows_first = config.rotary_order == RotaryOrder::rows_first;
  return (rows_first ? y : x) * learned.frequencies(0, learned.block, at.head, at.pair) +
         (rows_first ? x : y) * learned.frequencies(1, learned.block, at.head, at.pair);
}

/// timm's: source points lie at ±(1 + q + … ) from the middle, so that the outermost is where the outermost
/// destination is; straight lines between them, and the last value beyond. q within 1e-6, from [1.01, 1.5].
Array geometric_matrix(std::int64_t from, std::int64_t to) {
  const std::int64_t n = from / 2;
  const auto reach = [&](double q, std::int64_t count) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += std::pow(q, static_cast<double>(i));
    return sum;
  };
  double low = 1.01;
  double high = 1.5;
  double q = low;
  while (high - low > 1e-6) {
    q = (low + high) / 2;
    if (reach(q, n) > static_cast<double>(to / 2)) {
      high = q;
    } else {
      low = q;
    }
  }
  const auto point = [&](std::int64_t j) { return j < n ? -reach(q, n - j) : reach(q, j - n); };
  Array matrix({to, from});
  for (std::int64_t i = 0; i < to; ++i) {
    const double at = std::clamp(static_cast<double>(i - to / 2), point(0), point(from - 1));
    if (from == 1) matrix(i, 0) = 1;
    for (std::int64_t j = 0; j + 1 < from; ++j) {
      const double share = (at - point(j)) / (point(j + 1) - point(j));
      if (share < 0 || share > 1) continue;
      matrix(i, j) = 1 - share;
      matrix(i, j + 1) = share;
    }
  }
  return matrix;
}

}  // namespace

Array resample(PositionResampling rule, const Array& grid, Size2 to) {
  const auto matrix = rule == PositionResampling::bicubic_antialias ? antialias_matrix : interpolation_matrix;
  return apply(grid, matrix(rule, grid.dim(0), to.height), matrix(rule, grid.dim(1), to.width));
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

Array rotated(const ModelConfig& config, const Array& x, Size2 grid, const LearnedAngles& learned) {
  const std::int64_t d = config.hidden_size / config.num_heads;
  const std::int64_t prefix = config.num_prefix_tokens();
  Array y = x;
  for (std::int64_t b = 0; b < x.dim(0); ++b) {
    for (std::int64_t n = 0; n < grid.height * grid.width; ++n) {
      for (std::int64_t i = 0; i < x.dim(2) / 2; ++i) {
        const std::int64_t head = i / (d / 2);
        const std::int64_t pair = i % (d / 2);
        const bool first_half = pair < d / 4;
        const bool row = config.rotary_order == RotaryOrder::rows_first ? first_half : !first_half;
        const double fixed = (row ? angle_of(config, n / grid.width, grid.height, config.rotary_grid.height)
                                  : angle_of(config, n % grid.width, grid.width, config.rotary_grid.width)) *
                             std::pow(config.rotary_theta,
                                      -4.0 * static_cast<double>(pair % (d / 4)) / static_cast<double>(d));
        const double angle =
            learned.frequencies.empty() ? fixed : learned_angle(config, learned, n, {head, pair}, grid);
        const bool halves = config.rotary_layout == RotaryLayout::halves;
        const std::int64_t first = head * d + (halves ? pair : 2 * pair);
        const std::int64_t second = first + (halves ? d / 2 : 1);
        const std::complex<double> turned =
            std::complex(x(b, prefix + n, first), x(b, prefix + n, second)) * std::polar(1.0, angle);
        y(b, prefix + n, first) = turned.real();
        y(b, prefix + n, second) = turned.imag();
      }
    }
  }
  return y;
}

Array relative_bias(const ModelConfig& config, const Array& table, Size2 grid) {
  const Size2 own{config.image_size.height / config.patch_size.height,
                  config.image_size.width / config.patch_size.width};
  const std::int64_t h = table.dim(1);
  const Size2 to{2 * grid.height - 1, 2 * grid.width - 1};
  const bool transposed = config.relative_resampling == RelativeResampling::bilinear;
  const Size2 from{2 * (transposed ? own.width : own.height) - 1,
                   2 * (transposed ? own.height : own.width) - 1};
  Array distances({from.height, from.width, h}, {table.values.begin(), table.values.end() - 3 * h});
  if (config.relative_resampling == RelativeResampling::geometric && own != grid) {
    distances =
        apply(distances, geometric_matrix(from.height, to.height), geometric_matrix(from.width, to.width));
  }
  if (config.relative_resampling == RelativeResampling::bilinear) {
    distances = apply(distances, linear_matrix(distances.dim(0), to.height),
                      linear_matrix(distances.dim(1), to.width));
  }
  const std::int64_t T = 1 + grid.height * grid.width;
  Array bias({h, T, T});
  for (std::int64_t head = 0; head < h; ++head) {
    const auto of_class = [&](std::int64_t i) { return table(table.dim(0) - 3 + i, head); };
    for (std::int64_t q = 0; q < T; ++q) {
      for (std::int64_t k = 0; k < T; ++k) {
        const std::int64_t dy = (q - 1) / grid.width - (k - 1) / grid.width;
        const std::int64_t dx = (q - 1) % grid.width - (k - 1) % grid.width;
        const std::int64_t row = (dy + grid.height - 1) * to.width + dx + grid.width - 1;
        bias(head, q, k) = q == 0 && k == 0 ? of_class(2)
                           : q == 0         ? of_class(0)
                           : k == 0         ? of_class(1)
                                            : distances.values[static_cast<std::size_t>(row * h + head)];
      }
    }
  }
  return bias;
}

}  // namespace vit::reference
