#include "vit/position_embed.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace vit {
namespace {

/// Where a destination row (or column) reads: four source rows and their weights.
struct CubicTap {
  std::array<std::int64_t, 4> index;
  std::array<double, 4> weight;
};

/// Keys' cubic convolution with a = −0.75 (PyTorch's; Pillow and OpenCV's docs differ), half-pixel centres,
/// source rows beyond the edge repeated, no antialias however much it shrinks.
std::vector<CubicTap> cubic_taps(std::int64_t from, std::int64_t to) {
  constexpr double a = -0.75;
  const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };       // |x| <= 1
  const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };  // 1 < |x| < 2
  // PyTorch computes the ratio in float32, which moves the taps of large tables by a visible 1e-6.
  const float ratio = static_cast<float>(from) / static_cast<float>(to);
  std::vector<CubicTap> taps(static_cast<std::size_t>(to));
  for (std::int64_t i = 0; i < to; ++i) {
    const float centre = ratio * (static_cast<float>(i) + 0.5F) - 0.5F;
    const float floor = std::floor(centre);
    const double t = static_cast<double>(centre - floor);
    CubicTap& tap = taps[static_cast<std::size_t>(i)];
    tap.weight = {far(t + 1), near(t), near(1 - t), far(2 - t)};
    for (std::size_t k = 0; k < 4; ++k) {
      tap.index[k] = std::clamp<std::int64_t>(
          static_cast<std::int64_t>(floor) - 1 + static_cast<std::int64_t>(k), 0, from - 1);
    }
  }
  return taps;
}

/// src [from.height, from.width, D] -> dst [to.height, to.width, D]
void resample_bicubic(const float* src, Size2 from, float* dst, Size2 to, std::int64_t D) {
  const std::vector<CubicTap> rows = cubic_taps(from.height, to.height);
  const std::vector<CubicTap> columns = cubic_taps(from.width, to.width);
  std::vector<double> sum(static_cast<std::size_t>(D));
  for (const CubicTap& row : rows) {
    for (const CubicTap& column : columns) {
      std::fill(sum.begin(), sum.end(), 0.0);
      for (std::size_t y = 0; y < 4; ++y) {
        for (std::size_t x = 0; x < 4; ++x) {
          const double weight = row.weight[y] * column.weight[x];
          const float* token = src + (row.index[y] * from.width + column.index[x]) * D;
          for (std::size_t d = 0; d < sum.size(); ++d) sum[d] += weight * static_cast<double>(token[d]);
        }
      }
      for (const double value : sum) *dst++ = static_cast<float>(value);
    }
  }
}

}  // namespace

Tensor position_table(const ModelConfig& config, const Tensor& table, Size2 image) {
  const std::int64_t D = config.hidden_size;
  const std::int64_t prefix = config.num_prefix_tokens();
  const Size2 from = config.grid(config.image_size);
  const Size2 to = config.grid(image);
  Tensor positions({config.num_tokens(image), D});
  if (from == to) {
    std::copy_n(table.data(), positions.size(), positions.data());
    return positions;
  }
  std::copy_n(table.data(), prefix * D, positions.data());
  switch (config.position_resampling) {
    case PositionResampling::bicubic:
      resample_bicubic(table.data() + prefix * D, from, positions.data() + prefix * D, to, D);
      break;
  }
  return positions;
}

void add_positions(const Tensor& cls_token, const Tensor& positions, Tensor& hidden_states) {
  const std::int64_t D = hidden_states.shape()[2];
  const std::int64_t per_image = hidden_states.shape()[1] * D;
  for (std::int64_t b = 0; b < hidden_states.shape()[0]; ++b) {
    float* tokens = hidden_states.data() + b * per_image;
    std::copy_n(cls_token.data(), D, tokens);
    for (std::int64_t i = 0; i < per_image; ++i) tokens[i] += positions.data()[i];
  }
}

}  // namespace vit
