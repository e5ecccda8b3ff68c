#include "vit/precision_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "vit/backend/attention.hpp"
#include "vit/backend/linear.hpp"
#include "vit/backend/precision_support.hpp"

namespace vit {
namespace {

constexpr std::int64_t kRows = 32;      // of input
constexpr std::int64_t kOutputs = 256;  // of the layer, at most

/// Numbers around zero that do not repeat soon: the fractional parts of multiples of the golden ratio.
Tensor samples(const Shape& shape) {
  Tensor values(shape);
  double at = 0.5;
  for (float& value : values.elements()) {
    at += 0.6180339887498949;
    at -= std::floor(at);
    value = static_cast<float>(4 * at - 2);
  }
  return values;
}

/// ‖actual − expected‖ / ‖expected‖; NaN where anything is NaN.
double relative_error(const Tensor& actual, const Tensor& expected) {
  double error = 0;
  double norm = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const auto wanted = static_cast<double>(expected.data()[i]);
    const double off = static_cast<double>(actual.data()[i]) - wanted;
    error += off * off;
    norm += wanted * wanted;
  }
  return std::sqrt(error / std::max(norm, 1e-30));
}

Tensor product(const LinearWeights& weights, const Tensor& src, Precision precision) {
  const std::int64_t rows = src.shape()[0];
  backend::Context context;
  const backend::PackedLinear packed(weights, {rows, precision});
  backend::Linear linear(context, rows, packed);
  Tensor dst({rows, packed.out()});
  linear.run(src.data(), packed, dst.data());
  return dst;
}

double product_error(const LinearWeights& all, Precision precision, const CheckedProducts& products) {
  const std::int64_t outputs = std::min(kOutputs, all.weight.shape.front());
  const LinearWeights weights = all.rows(0, outputs);
  const Tensor src = samples({kRows, weights.weight.size() / outputs});
  return relative_error(products.linear(weights, src, precision),
                        products.linear(weights, src, Precision::fp32));
}

Tensor attended(const ModelConfig& config, const Tensor& qkv, ValueType products) {
  const std::int64_t tokens = qkv.shape()[0];
  backend::Attention attention({1, tokens, config.num_heads, config.head_size()},
                               {ValueType::f32, products, ValueType::f32});
  Tensor context({tokens, config.hidden_size});
  attention.run(qkv.data(), nullptr, context.data());
  return context;
}

double attention_error(const ModelConfig& config, const CheckedProducts& products) {
  const Tensor qkv = samples({kRows, 3 * config.hidden_size});
  return relative_error(products.attention(config, qkv, ValueType::bf16),
                        products.attention(config, qkv, ValueType::f32));
}

/// What rounding alone makes of a product: bf16 rounds operands and results by 2⁻⁸ at most; 8 bits of a range
/// of 2·3 σ are off by half a level of 255 each, weights a little more. Errors are independent, so that they
/// are as large in the sums as in the operands. Four times that is a fault.
double largest_error(Precision precision) {
  return precision == Precision::bf16 ? 4 * 0x1p-8 : 0.08;
}

}  // namespace

CheckedProducts engine_products() {
  return {product, attended};
}

std::string why_not(Precision precision, const ModelConfig& config, const Weights& weights,
                    const CheckedProducts& products) {
  if (precision == Precision::fp32) return {};
  if (std::string shortage = processor_shortage(precision); !shortage.empty()) return shortage;
  const BlockWeights& block = weights.blocks.front();
  for (const auto& [name, layer] : {std::pair("attn.qkv", &block.qkv), std::pair("attn.proj", &block.proj),
                                    std::pair("mlp.fc1", &block.fc1), std::pair("mlp.fc2", &block.fc2)}) {
    if (layer->weight.empty()) continue;
    const double error = product_error(*layer, precision, products);
    if (!(error <= largest_error(precision))) {
      return fmt::format(
          "the {} product of blocks.0.{} is off by {:.2g} of its size, expected {:.2g} at most; "
          "fp32 is used",
          to_string(precision), name, error, largest_error(precision));
    }
  }
  if (!backend::has_precision(Precision::bf16)) return {};
  const double error = attention_error(config, products);
  if (error <= largest_error(Precision::bf16)) return {};
  return fmt::format("attention in bf16 is off by {:.2g} of its size, expected {:.2g} at most; fp32 is used",
                     error, largest_error(Precision::bf16));
}

}  // namespace vit
