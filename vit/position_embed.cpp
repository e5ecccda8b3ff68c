#include "vit/position_embed.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace vit {
namespace {

/// Where a destination row (or column) reads: source rows and their weights, which add up to 1.
struct Taps {
  std::vector<std::int64_t> index;
  std::vector<double> weight;
};

/// Keys' cubic convolution kernel (1981, equation 15) at distance x from its centre.
double cubic(double a, double x) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// PyTorch computes the ratio and the centres in float32, which moves the taps of large tables by a visible
// 1e-6. Centres are those of pixels: i + 1/2.
float source_ratio(std::int64_t from, std::int64_t to) {
  return static_cast<float>(from) / static_cast<float>(to);
}

/// a = −0.75 (PyTorch's; Pillow and OpenCV's docs differ), source rows beyond the edge repeated, always four
/// taps however much it shrinks. Row i lies `ratio` (i + `shift`) − `shift` rows down the source.
std::vector<Taps> cubic_taps_at(std::int64_t from, std::int64_t to, float ratio, float shift) {
  constexpr double a = -0.75;
  std::vector<Taps> taps(static_cast<std::size_t>(to));
  for (std::int64_t i = 0; i < to; ++i) {
    const float centre = ratio * (static_cast<float>(i) + shift) - shift;
    const float floor = std::floor(centre);
    const auto t = static_cast<double>(centre - floor);
    Taps& tap = taps[static_cast<std::size_t>(i)];
    tap.weight = {cubic(a, t + 1), cubic(a, t), cubic(a, 1 - t), cubic(a, 2 - t)};
    for (std::int64_t k = -1; k < 3; ++k) {
      tap.index.push_back(std::clamp<std::int64_t>(static_cast<std::int64_t>(floor) + k, 0, from - 1));
    }
  }
  return taps;
}

std::vector<Taps> cubic_taps(std::int64_t from, std::int64_t to) {
  return cubic_taps_at(from, to, source_ratio(from, to), 0.5F);
}

/// align_corners=True: the centres of the outermost rows stay where they are.
std::vector<Taps> aligned_taps(std::int64_t from, std::int64_t to) {
  const float ratio = to > 1 ? static_cast<float>(from - 1) / static_cast<float>(to - 1) : 0.0F;
  return cubic_taps_at(from, to, ratio, 0.0F);
}

/// A factor that is given counts, not the one of the sizes: PyTorch's scale_factor, which DINOv2 makes
/// (to + 0.1)/from.
std::vector<Taps> offset_taps(std::int64_t from, std::int64_t to) {
  const double factor = (static_cast<double>(to) + 0.1) / static_cast<double>(from);
  return cubic_taps_at(from, to, static_cast<float>(1.0 / factor), 0.5F);
}

/// antialias=True: a = −0.5 as in Pillow, the kernel stretched by the ratio where it shrinks, cut at the
/// edges and normalised (PyTorch's _upsample_bicubic2d_aa).
std::vector<Taps> antialiased_taps(std::int64_t from, std::int64_t to) {
  constexpr double a = -0.5;
  const auto ratio = static_cast<double>(source_ratio(from, to));
  const double stretch = std::max(ratio, 1.0);
  std::vector<Taps> taps(static_cast<std::size_t>(to));
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = ratio * (static_cast<double>(i) + 0.5);
    const auto begin = std::max<std::int64_t>(static_cast<std::int64_t>(centre - 2 * stretch + 0.5), 0);
    const auto end = std::min<std::int64_t>(static_cast<std::int64_t>(centre + 2 * stretch + 0.5), from);
    Taps& tap = taps[static_cast<std::size_t>(i)];
    double total = 0;
    for (std::int64_t j = begin; j < end; ++j) {
      tap.index.push_back(j);
      tap.weight.push_back(cubic(a, (static_cast<double>(j) + 0.5 - centre) / stretch));
      total += tap.weight.back();
    }
    for (double& weight : tap.weight) weight /= total;
  }
  return taps;
}

using TapsOf = std::vector<Taps> (*)(std::int64_t from, std::int64_t to);

TapsOf taps_of(PositionResampling rule) {
  switch (rule) {
    case PositionResampling::bicubic:
      return cubic_taps;
    case PositionResampling::bicubic_antialias:
      return antialiased_taps;
    case PositionResampling::bicubic_aligned:
      return aligned_taps;
    case PositionResampling::bicubic_offset:
      return offset_taps;
  }
  return cubic_taps;
}

/// src [rows, columns, D] by the taps of both axes -> dst
void resample(const float* src, std::int64_t width, const std::vector<Taps>& rows,
              const std::vector<Taps>& columns, std::span<float> dst) {
  const std::size_t D = dst.size() / (rows.size() * columns.size());
  std::vector<double> sum(D);
  float* next = dst.data();
  for (const Taps& row : rows) {
    for (const Taps& column : columns) {
      std::fill(sum.begin(), sum.end(), 0.0);
      for (std::size_t y = 0; y < row.index.size(); ++y) {
        for (std::size_t x = 0; x < column.index.size(); ++x) {
          const double weight = row.weight[y] * column.weight[x];
          const float* token = src + (row.index[y] * width + column.index[x]) * static_cast<std::int64_t>(D);
          for (std::size_t d = 0; d < D; ++d) sum[d] += weight * static_cast<double>(token[d]);
        }
      }
      for (const double value : sum) *next++ = static_cast<float>(value);
    }
  }
}

}  // namespace

Tensor position_table(const ModelConfig& config, const Tensor& table, Size2 image) {
  const std::int64_t D = config.hidden_size;
  const std::int64_t prefix = config.num_prefix_tokens();
  const std::int64_t prefix_rows = config.num_prefix_positions();
  const Size2 from = config.grid(config.image_size);
  const Size2 to = config.grid(image);
  Tensor positions({config.num_tokens(image), D});
  std::fill_n(positions.data(), positions.size(), 0.0F);
  if (config.position_embedding == PositionEmbedding::none) return positions;
  std::copy_n(table.data(), prefix_rows * D, positions.data());
  const float* patches = table.data() + prefix_rows * D;
  const std::span<float> dst = positions.elements().subspan(static_cast<std::size_t>(prefix * D));
  if (from == to) {
    std::copy_n(patches, dst.size(), dst.data());
    return positions;
  }
  const auto taps = taps_of(config.position_resampling);
  resample(patches, from.width, taps(from.height, to.height), taps(from.width, to.width), dst);
  return positions;
}

void add_positions(const Tensor& prefix, const Tensor& positions, const TensorView& hidden_states) {
  const std::int64_t per_image = positions.size();
  for (std::int64_t b = 0; b < hidden_states.shape[0]; ++b) {
    float* tokens = hidden_states.data + b * per_image;
    std::copy_n(prefix.data(), prefix.size(), tokens);
    for (std::int64_t i = 0; i < per_image; ++i) tokens[i] += positions.data()[i];
  }
}

}  // namespace vit
