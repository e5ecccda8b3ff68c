#include "tests/reference/layers.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace vit::reference {
namespace {

/// Rows of an array seen as [rows, last axis].
std::int64_t row_count(const Array& x) {
  return element_count(x.shape) / x.shape.back();
}

void softmax_in_place(std::vector<double>& x) {
  const double top = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double& value : x) sum += value = std::exp(value - top);
  for (double& value : x) value /= sum;
}

/// Φ(x), without cancellation for x << 0.
double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

}  // namespace

std::vector<Activation> every_activation() {
  std::vector<Activation> all;
  for (int i = 0; to_string(static_cast<Activation>(i)) != "?"; ++i)
    all.push_back(static_cast<Activation>(i));
  return all;
}

double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::gelu:
      return x * normal_cdf(x);
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::quick_gelu:
      return x / (1 + std::exp(-1.702 * x));
    case Activation::relu:
      return x > 0 ? x : 0;
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::identity:
      return x;
    case Activation::gelu_10:
      return std::min(10.0, x * normal_cdf(x));
    case Activation::leaky_relu:
      return x > 0 ? x : 0.01 * x;
    case Activation::relu6:
      return std::min(std::max(x, 0.0), 6.0);
    case Activation::relu2:
      return x > 0 ? x * x : 0;
    case Activation::elu:
      return x > 0 ? x : std::expm1(x);
    case Activation::selu:
      return 1.0507009873554804934193349852946 *
             (x > 0 ? x : 1.6732632423543772848170429916717 * std::expm1(x));
    case Activation::mish:
      return x * std::tanh(std::log1p(std::exp(x)));
    case Activation::hard_sigmoid:
      return std::min(std::max(x + 3, 0.0), 6.0) / 6;
    case Activation::hard_swish:
      return x * std::min(std::max(x + 3, 0.0), 6.0) / 6;
    case Activation::hard_mish:
      return 0.5 * x * std::min(std::max(x + 2, 0.0), 2.0);
    case Activation::laplace:
      return normal_cdf((x - 0.707107) / 0.282095);
    case Activation::sqrt_softplus:
      return std::sqrt(x > 30 ? x : std::log1p(std::exp(x)));
  }
  return std::nan("");
}

Array activate(Activation activation, Array x) {
  for (double& value : x.values) value = activate(activation, value);
  return x;
}

Array linear(const Array& x, const Array& weight, const Array& bias) {
  const std::int64_t in = weight.dim(1);
  const std::int64_t out = weight.dim(0);
  Array y(x.shape);
  y.shape.back() = out;
  y.values.resize(static_cast<std::size_t>(row_count(x) * out));
  for (std::int64_t row = 0; row < row_count(x); ++row) {
    for (std::int64_t o = 0; o < out; ++o) {
      double sum = bias.empty() ? 0 : bias(o);
      for (std::int64_t i = 0; i < in; ++i) {
        sum += x.values[static_cast<std::size_t>(row * in + i)] * weight(o, i);
      }
      y.values[static_cast<std::size_t>(row * out + o)] = sum;
    }
  }
  return y;
}

Array layer_norm(const Array& x, const Array& gamma, const Array& beta, double epsilon) {
  const std::int64_t D = x.shape.back();
  Array y(x.shape);
  for (std::int64_t row = 0; row < row_count(x); ++row) {
    const double* from = x.values.data() + row * D;
    double* to = y.values.data() + row * D;
    double mean = 0;
    for (std::int64_t d = 0; d < D; ++d) mean += from[d] / static_cast<double>(D);
    double variance = 0;
    for (std::int64_t d = 0; d < D; ++d) {
      variance += (from[d] - mean) * (from[d] - mean) / static_cast<double>(D);
    }
    for (std::int64_t d = 0; d < D; ++d) {
      to[d] = gamma(d) * (from[d] - mean) / std::sqrt(variance + epsilon) + beta(d);
    }
  }
  return y;
}

Array rms_norm(const Array& x, const Array& gamma, double epsilon) {
  const std::int64_t D = x.shape.back();
  Array y(x.shape);
  for (std::int64_t row = 0; row < row_count(x); ++row) {
    const double* from = x.values.data() + row * D;
    double mean_square = 0;
    for (std::int64_t d = 0; d < D; ++d) mean_square += from[d] * from[d] / static_cast<double>(D);
    for (std::int64_t d = 0; d < D; ++d)
      y.values[static_cast<std::size_t>(row * D + d)] = gamma(d) * from[d] / std::sqrt(mean_square + epsilon);
  }
  return y;
}

Array add(Array a, const Array& b) {
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values[i];
  return a;
}

Array scale_channels(Array x, const Array& scale) {
  for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] *= scale.values[i % scale.values.size()];
  return x;
}

Array patch_embed(const Array& pixel_values, const Array& weight, const Array& bias) {
  const std::int64_t B = pixel_values.dim(0);
  const std::int64_t D = weight.dim(0);
  const std::int64_t C = weight.dim(1);
  const std::int64_t patch_height = weight.dim(2);
  const std::int64_t patch_width = weight.dim(3);
  const std::int64_t grid_width = pixel_values.dim(3) / patch_width;
  const std::int64_t N = pixel_values.dim(2) / patch_height * grid_width;
  Array y({B, N, D});
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t n = 0; n < N; ++n) {
      const std::int64_t top = n / grid_width * patch_height;
      const std::int64_t left = n % grid_width * patch_width;
      for (std::int64_t d = 0; d < D; ++d) {
        double sum = bias.empty() ? 0 : bias(d);
        for (std::int64_t c = 0; c < C; ++c) {
          for (std::int64_t i = 0; i < patch_height; ++i) {
            for (std::int64_t j = 0; j < patch_width; ++j) {
              sum += weight(d, c, i, j) * pixel_values(b, c, top + i, left + j);
            }
          }
        }
        y(b, n, d) = sum;
      }
    }
  }
  return y;
}

AttentionResult attention(const Array& q, const Array& k, const Array& v, std::int64_t heads,
                          const ScoreTerms& terms) {
  const std::int64_t B = q.dim(0);
  const std::int64_t T = q.dim(1);
  const std::int64_t d = q.dim(2) / heads;
  AttentionResult result{Array({B, heads, T, T}), Array({B, T, heads * d})};
  std::vector<double> row(static_cast<std::size_t>(T));
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t query = 0; query < T; ++query) {
        for (std::int64_t key = 0; key < T; ++key) {
          double score = 0;
          for (std::int64_t i = head * d; i < (head + 1) * d; ++i) score += q(b, query, i) * k(b, key, i);
          score /= std::sqrt(static_cast<double>(d));
          if (!terms.bias.empty()) score += terms.bias(head, query, key);
          if (!terms.sizes.empty()) score += std::log(terms.sizes(b, key));
          row[static_cast<std::size_t>(key)] = score;
        }
        softmax_in_place(row);
        for (std::int64_t key = 0; key < T; ++key) {
          const double p = row[static_cast<std::size_t>(key)];
          result.probs(b, head, query, key) = p;
          for (std::int64_t i = head * d; i < (head + 1) * d; ++i) {
            result.context(b, query, i) += p * v(b, key, i);
          }
        }
      }
    }
  }
  return result;
}

Array columns(const Array& x, std::int64_t from, std::int64_t count) {
  const std::int64_t width = x.shape.back();
  Array y(x.shape);
  y.shape.back() = count;
  y.values.clear();
  for (std::int64_t row = 0; row < row_count(x); ++row) {
    const auto begin = x.values.begin() + row * width + from;
    y.values.insert(y.values.end(), begin, begin + count);
  }
  return y;
}

}  // namespace vit::reference
