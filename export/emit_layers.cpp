// Layers and constants: the parts that stages are made of.
#include <cmath>
#include <numbers>

#include "export/vit_emitter.hpp"

namespace vit::exporter {
namespace {

constexpr std::int64_t kFloat = 1;  // TensorProto.FLOAT, of Cast's attribute "to"

}  // namespace

// ------------------------------------------------------------------------------------------ constants

std::string VitEmitter::vector(const std::string& name, const WeightView& weight) {
  return builder_.initializer(name, ElementType::f32, weight.shape, stored(weight).as_f32());
}

std::string VitEmitter::widened(const std::string& name) {
  return builder_.node("/" + name, "Cast", {name}, {{"to", kFloat}});
}

std::string VitEmitter::dequantized(const std::string& name, const StoredWeight& weight, std::int64_t axis) {
  const Shape channels{weight.view.shape[0]};
  const std::string scale =
      builder_.initializer(name + "_scale", ElementType::f32, channels, weight.i8_scales());
  return builder_.node("/" + name, "DequantizeLinear", {name, scale, builder_.zero_points(channels)},
                       {{"axis", axis}});
}

std::string VitEmitter::table(const std::string& name, const StoredWeight& weight) {
  if (options_.weights != WeightStorage::fp16)
    return builder_.initializer(name, ElementType::f32, weight.view.shape, weight.as_f32());
  return widened(builder_.initializer(name, ElementType::f16, weight.view.shape, weight.as_f16()));
}

std::string VitEmitter::matrix(const std::string& name, const WeightView& weight) {
  const StoredWeight values = stored(weight);
  if (options_.weights != WeightStorage::int8) return table(name, values);
  return dequantized(builder_.initializer(name, ElementType::i8, weight.shape, values.as_i8()), values, 0);
}

std::string VitEmitter::transposed(const std::string& name, const WeightView& weight) {
  const Shape shape{weight.shape[1], weight.shape[0]};
  StoredWeight values = stored(weight);
  if (!options_.ranges.empty()) values.i8_max = kI8MaxOfProducts;
  switch (options_.weights) {
    case WeightStorage::fp32:
      break;
    case WeightStorage::fp16:
      return widened(builder_.initializer(name, ElementType::f16, shape, values.transposed_f16()));
    case WeightStorage::int8:
      return dequantized(builder_.initializer(name, ElementType::i8, shape, values.transposed_i8()), values,
                         1);
  }
  return builder_.initializer(name, ElementType::f32, shape, values.transposed_f32());
}

std::string VitEmitter::rounded(const std::string& value) {
  const auto range = options_.ranges.find(value);
  if (range == options_.ranges.end()) return value;
  const std::string zero = builder_.zero_points({});
  const std::string scale = value + "_scale";
  std::string& bytes = rounded_[value];
  if (bytes.empty()) {
    builder_.constant(scale, {}, {range->second > 0 ? range->second / 127.0F : 1.0F});
    bytes = builder_.node(value, "QuantizeLinear", {value, scale, zero});
  }
  // One for each reader: runtimes fuse it into the multiplication, and not where two share it.
  return builder_.node(value, "DequantizeLinear", {bytes, scale, zero});
}

// ------------------------------------------------------------------------------------------ layers

std::string VitEmitter::linear(const std::string& module, const std::string& x, const std::string& weight,
                               const LinearWeights& linear) {
  // MatMul and Add rather than Gemm, which wants two dimensions: the form that runtimes fuse and quantise
  // best.
  const std::string y =
      builder_.node(module, "MatMul", {rounded(x), transposed(weight + ".weight", linear.weight)});
  if (linear.bias.empty()) return y;
  return builder_.node(module, "Add", {y, vector(weight + ".bias", linear.bias)});
}

std::string VitEmitter::gemm(const std::string& module, const std::string& x, const std::string& weight,
                             const LinearWeights& linear) {
  std::vector<std::string> inputs{x, matrix(weight + ".weight", linear.weight)};
  if (!linear.bias.empty()) inputs.push_back(vector(weight + ".bias", linear.bias));
  return builder_.node(module, "Gemm", std::move(inputs), {{"transB", std::int64_t{1}}});
}

std::string VitEmitter::mean(const std::string& module, const std::string& x, std::int64_t axis, bool keep) {
  const auto keepdims = static_cast<std::int64_t>(keep);
  if (builder_.opset() >= 18)
    return builder_.node(module, "ReduceMean", {x, builder_.ints({axis})}, {{"keepdims", keepdims}});
  return builder_.node(module, "ReduceMean", {x},
                       {{"axes", std::vector<std::int64_t>{axis}}, {"keepdims", keepdims}});
}

/// Of all positions along an axis, which is not kept.
std::string VitEmitter::largest(const std::string& module, const std::string& x, std::int64_t axis) {
  if (builder_.opset() >= 18)
    return builder_.node(module, "ReduceMax", {x, builder_.ints({axis})}, {{"keepdims", std::int64_t{0}}});
  return builder_.node(module, "ReduceMax", {x},
                       {{"axes", std::vector<std::int64_t>{axis}}, {"keepdims", std::int64_t{0}}});
}

std::string VitEmitter::norm(const std::string& module, const std::string& x, const std::string& weight,
                             const NormWeights& norm) {
  switch (config_.norm) {
    case NormKind::layer:
      break;
    case NormKind::rms:
      return rms_norm(module, x, vector(weight + ".weight", norm.weight), config_.layer_norm_eps);
  }
  return layer_norm(module, x, weight, norm);
}

/// γ x / √(mean(x²) + ε). Opset 23 has a node for it, which hardly any runtime knows yet; this form is fused.
std::string VitEmitter::rms_norm(const std::string& module, const std::string& x, const std::string& gamma,
                                 float epsilon) {
  const std::string square = builder_.node(module, "Pow", {x, builder_.scalar("two", 2.0F)});
  const std::string sum = builder_.node(
      module, "Add", {mean(module, square, -1, true), builder_.scalar("rms_norm_eps", epsilon)});
  const std::string normed = builder_.node(module, "Div", {x, builder_.node(module, "Sqrt", {sum})});
  return builder_.node(module, "Mul", {normed, gamma});
}

std::string VitEmitter::layer_norm(const std::string& module, const std::string& x, const std::string& weight,
                                   const NormWeights& norm) {
  const std::string gamma = vector(weight + ".weight", norm.weight);
  const std::string beta = vector(weight + ".bias", norm.bias);
  if (builder_.opset() >= 17) {
    return builder_.node(module, "LayerNormalization", {x, gamma, beta},
                         {{"axis", std::int64_t{-1}}, {"epsilon", config_.layer_norm_eps}});
  }
  // In the form that runtimes recognise and fuse: the square as Pow(2).
  const std::string centred = builder_.node(module, "Sub", {x, mean(module, x, -1, true)});
  const std::string square = builder_.node(module, "Pow", {centred, builder_.scalar("two", 2.0F)});
  const std::string variance = builder_.node(
      module, "Add",
      {mean(module, square, -1, true), builder_.scalar("layer_norm_eps", config_.layer_norm_eps)});
  const std::string normed =
      builder_.node(module, "Div", {centred, builder_.node(module, "Sqrt", {variance})});
  return builder_.node(module, "Add", {builder_.node(module, "Mul", {normed, gamma}), beta});
}

/// x Φ(x)
std::string VitEmitter::gelu(const std::string& module, const std::string& x) {
  if (builder_.opset() >= 20) return builder_.node(module, "Gelu", {x});
  // x / √2, erf, + 1, x ·, · 0.5: in this order runtimes fuse it; with x · 0.7071 they do not.
  const std::string scaled =
      builder_.node(module, "Div", {x, builder_.scalar("sqrt_2", std::numbers::sqrt2_v<float>)});
  const std::string gate =
      builder_.node(module, "Add", {builder_.node(module, "Erf", {scaled}), builder_.scalar("one", 1.0F)});
  return builder_.node(module, "Mul",
                       {builder_.node(module, "Mul", {x, gate}), builder_.scalar("half", 0.5F)});
}

/// 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³)))
std::string VitEmitter::gelu_tanh(const std::string& module, const std::string& x) {
  if (builder_.opset() >= 20)
    return builder_.node(module, "Gelu", {x}, {{"approximate", std::string("tanh")}});
  const std::string cube = builder_.node(module, "Mul", {builder_.node(module, "Mul", {x, x}), x});
  const std::string term =
      builder_.node(module, "Mul", {cube, builder_.scalar("gelu_tanh_cubic", 0.044715F)});
  const auto factor = static_cast<float>(std::sqrt(2.0 / std::numbers::pi));
  const std::string inner = builder_.node(
      module, "Mul", {builder_.node(module, "Add", {x, term}), builder_.scalar("sqrt_2_over_pi", factor)});
  const std::string gate =
      builder_.node(module, "Add", {builder_.node(module, "Tanh", {inner}), builder_.scalar("one", 1.0F)});
  // x · 0.5 first: with the factor behind the product OpenCV 5 crashes.
  const std::string half = builder_.node(module, "Mul", {x, builder_.scalar("half", 0.5F)});
  return builder_.node(module, "Mul", {half, gate});
}

/// (1 + erf((x − μ) / (σ √2))) / 2
std::string VitEmitter::laplace(const std::string& module, const std::string& x) {
  const std::string centred = builder_.node(module, "Sub", {x, builder_.scalar("laplace_mu", 0.707107F)});
  const std::string divisor = builder_.scalar("laplace_width", 0.282095F * std::numbers::sqrt2_v<float>);
  const std::string error = builder_.node(module, "Erf", {builder_.node(module, "Div", {centred, divisor})});
  return builder_.node(
      module, "Mul",
      {builder_.node(module, "Add", {error, builder_.scalar("one", 1.0F)}), builder_.scalar("half", 0.5F)});
}

/// min(1, max(0, slope x + offset))
std::string VitEmitter::hard_sigmoid(const std::string& module, const std::string& x, float slope,
                                     float offset) {
  return builder_.node(module, "HardSigmoid", {x}, {{"alpha", slope}, {"beta", offset}});
}

/// Opset 18 has Mish and 14 HardSwish; the products are known to more runtimes, and fused where those are.
std::string VitEmitter::activation(const std::string& module, const std::string& x, Activation function) {
  const auto node = [&](const char* op, std::vector<std::string> inputs,
                        GraphBuilder::Attributes attributes = {}) {
    return builder_.node(module, op, std::move(inputs), std::move(attributes));
  };
  switch (function) {
    case Activation::gelu:
      return gelu(module, x);
    case Activation::gelu_tanh:
      return gelu_tanh(module, x);
    case Activation::quick_gelu:  // x σ(1.702 x)
      return node("Mul", {x, node("Sigmoid", {node("Mul", {x, builder_.scalar("quick_gelu", 1.702F)})})});
    case Activation::gelu_10:
      return node("Clip", {gelu(module, x), builder_.scalar("minus_ten", -10), builder_.scalar("ten", 10)});
    case Activation::relu:
      return node("Relu", {x});
    case Activation::leaky_relu:
      return node("LeakyRelu", {x}, {{"alpha", 0.01F}});
    case Activation::relu6:
      return node("Clip", {x, builder_.scalar("zero", 0), builder_.scalar("six", 6)});
    case Activation::relu2: {
      const std::string positive = node("Relu", {x});
      return node("Mul", {positive, positive});
    }
    case Activation::elu:
      return node("Elu", {x}, {{"alpha", 1.0F}});
    case Activation::selu:
      return node("Selu", {x}, {{"alpha", 1.6732632423543772F}, {"gamma", 1.0507009873554805F}});
    case Activation::silu:
      return node("Mul", {x, node("Sigmoid", {x})});
    case Activation::mish:
      return node("Mul", {x, node("Tanh", {node("Softplus", {x})})});
    case Activation::tanh:
      return node("Tanh", {x});
    case Activation::sigmoid:
      return node("Sigmoid", {x});
    case Activation::hard_sigmoid:
      return hard_sigmoid(module, x, 1 / 6.0F, 0.5F);
    case Activation::hard_swish:
      return node("Mul", {x, hard_sigmoid(module, x, 1 / 6.0F, 0.5F)});
    case Activation::hard_mish:
      return node("Mul", {x, hard_sigmoid(module, x, 0.5F, 1)});
    case Activation::laplace:
      return laplace(module, x);
    case Activation::sqrt_softplus:  // OpenVINO's Softplus falls below 0, where there is no root
      return node("Sqrt", {node("Relu", {node("Softplus", {x})})});
    case Activation::identity:
      break;
  }
  return x;
}

}  // namespace vit::exporter
