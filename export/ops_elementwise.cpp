// Operators that compute each element from one of each input.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "export/operators.hpp"

namespace vit::exporter {
namespace {

// ---------------------------------------------------------------------------------------------- two inputs
/// An axis of the result, and how far its neighbours are apart in the two inputs: 0 where one is repeated.
struct Axis {
  std::int64_t extent;
  std::int64_t a;
  std::int64_t b;
};

Shape repeated_strides(const Shape& shape, const Shape& result) {
  const Shape own = row_major_strides(shape);
  Shape strides(result.size(), 0);
  const std::size_t lead = result.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) strides[lead + i] = shape[i] == 1 ? 0 : own[i];
  return strides;
}

/// As few axes as possible, at least one: the last one's strides are 0 or 1.
std::vector<Axis> collapse(const Shape& result, const Shape& a, const Shape& b) {
  const Shape a_strides = repeated_strides(a, result);
  const Shape b_strides = repeated_strides(b, result);
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] == 1) continue;
    const Axis axis{result[i], a_strides[i], b_strides[i]};
    if (!axes.empty() && axes.back().a == axis.a * axis.extent && axes.back().b == axis.b * axis.extent) {
      axes.back() = {axes.back().extent * axis.extent, axis.a, axis.b};
    } else {
      axes.push_back(axis);
    }
  }
  if (axes.empty()) axes.push_back({1, 0, 0});
  return axes;
}

template <class F>
void compute_run(F f, const float* a, std::int64_t a_step, const float* b, std::int64_t b_step, float* out,
                 std::int64_t count) {
  if (a_step == 1 && b_step == 1) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = f(a[i], b[i]);
  } else if (a_step == 1) {
    const float right = *b;
    for (std::int64_t i = 0; i < count; ++i) out[i] = f(a[i], right);
  } else {
    const float left = *a;
    for (std::int64_t i = 0; i < count; ++i) out[i] = f(left, b[i * b_step]);
  }
}

constexpr std::int64_t kGrain = 1 << 14;  // elements that are worth a thread

template <class F>
Value compute_binary(const Arguments& arguments, F f) {
  const Value& a = arguments[0];
  const Value& b = arguments[1];
  Value result = arguments.allocate(ElementType::f32, arguments.broadcast(a.shape(), b.shape()));
  std::vector<Axis> axes = collapse(result.shape(), a.shape(), b.shape());
  const Axis inner = axes.back();
  axes.pop_back();
  arguments.workers().for_parts(result.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t offset = begin % inner.extent;
      std::int64_t rest = begin / inner.extent;
      const float* left = a.f32() + offset * inner.a;
      const float* right = b.f32() + offset * inner.b;
      for (std::size_t i = axes.size(); i-- > 0; rest /= axes[i].extent) {
        left += rest % axes[i].extent * axes[i].a;
        right += rest % axes[i].extent * axes[i].b;
      }
      const std::int64_t count = std::min(inner.extent - offset, end - begin);
      compute_run(f, left, inner.a, right, inner.b, result.f32() + begin, count);
      begin += count;
    }
  });
  return result;
}

Value compute_power(const Arguments& arguments) {
  // GELU's and the variance's powers, for which std::pow is slow.
  if (arguments[1].size() == 1) {
    const float exponent = *arguments[1].f32();
    if (exponent == 2) return compute_binary(arguments, [](float x, float) { return x * x; });
    if (exponent == 3) return compute_binary(arguments, [](float x, float) { return x * x * x; });
  }
  return compute_binary(arguments, [](float x, float y) { return std::pow(x, y); });
}

// ----------------------------------------------------------------------------------------------- one input
template <class F>
Kernel unary(F f) {
  return [f](const Arguments& arguments) -> std::vector<Value> {
    Value result = arguments.allocate(ElementType::f32, arguments[0].shape());
    const float* from = arguments[0].f32();
    float* to = result.f32();
    arguments.workers().for_parts(result.size(), kGrain / 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) to[i] = f(from[i]);
    });
    return {result};
  };
}

constexpr float kSqrtHalf = 0.707106781F;     // 1 / √2
constexpr float kSqrt2OverPi = 0.797884561F;  // √(2 / π)

float gelu(float x) {
  return 0.5F * x * (1 + std::erf(x * kSqrtHalf));
}

float gelu_tanh(float x) {
  return 0.5F * x * (1 + std::tanh(kSqrt2OverPi * (x + 0.044715F * x * x * x)));
}

}  // namespace

Operator make_binary(NodeReader& node, const std::string& op_type) {
  node.expect_inputs(2, 2);
  node.expect_types(ElementType::f32);
  const auto kernel = [](auto f) -> Operator {
    return {ElementType::f32,
            [f](const Arguments& arguments) -> std::vector<Value> { return {compute_binary(arguments, f)}; }};
  };
  if (op_type == "Add") return kernel([](float x, float y) { return x + y; });
  if (op_type == "Sub") return kernel([](float x, float y) { return x - y; });
  if (op_type == "Mul") return kernel([](float x, float y) { return x * y; });
  if (op_type == "Div") return kernel([](float x, float y) { return x / y; });
  return {ElementType::f32,
          [](const Arguments& arguments) -> std::vector<Value> { return {compute_power(arguments)}; }};
}

Operator make_unary(NodeReader& node, const std::string& op_type) {
  node.expect_inputs(1, 1);
  node.expect_types(ElementType::f32);
  const auto kernel = [&]() -> Kernel {
    if (op_type == "Sqrt") return unary([](float x) { return std::sqrt(x); });
    if (op_type == "Exp") return unary([](float x) { return std::exp(x); });
    if (op_type == "Sin") return unary([](float x) { return std::sin(x); });
    if (op_type == "Cos") return unary([](float x) { return std::cos(x); });
    if (op_type == "Erf") return unary([](float x) { return std::erf(x); });
    if (op_type == "Tanh") return unary([](float x) { return std::tanh(x); });
    if (op_type == "Sigmoid") return unary([](float x) { return 1 / (1 + std::exp(-x)); });
    if (op_type == "Softplus")
      return unary([](float x) { return std::max(x, 0.0F) + std::log1p(std::exp(-std::abs(x))); });
    if (op_type == "Identity") return unary([](float x) { return x; });
    if (op_type == "Relu") return unary([](float x) { return x < 0 ? 0.0F : x; });
    return unary([](float x) { return -x; });
  };
  return {ElementType::f32, kernel()};
}

Operator make_rectifier(NodeReader& node, const std::string& op_type) {
  node.expect_inputs(1, 1);
  node.expect_types(ElementType::f32);
  if (op_type == "LeakyRelu") {
    const float alpha = node.number("alpha", 0.01F);
    return {ElementType::f32, unary([alpha](float x) { return x < 0 ? alpha * x : x; })};
  }
  if (op_type == "HardSigmoid") {
    const float alpha = node.number("alpha", 0.2F);
    const float beta = node.number("beta", 0.5F);
    return {ElementType::f32,
            unary([alpha, beta](float x) { return std::max(0.0F, std::min(1.0F, alpha * x + beta)); })};
  }
  const bool selu = op_type == "Selu";
  const float alpha = node.number("alpha", selu ? 1.6732632423543772F : 1.0F);
  const float gamma = selu ? node.number("gamma", 1.0507009873554805F) : 1.0F;
  return {ElementType::f32,
          unary([alpha, gamma](float x) { return gamma * (x < 0 ? alpha * std::expm1(x) : x); })};
}

Operator make_clip(NodeReader& node) {
  node.expect_inputs(1, 3);
  node.expect_types(ElementType::f32);
  const std::vector<bool> bounded{node.has(1), node.has(2)};
  return {ElementType::f32, [bounded](const Arguments& arguments) -> std::vector<Value> {
            std::array<float, 2> ends{-std::numeric_limits<float>::infinity(),
                                      std::numeric_limits<float>::infinity()};
            for (std::size_t i = 0; i < 2; ++i) {
              if (!bounded[i]) continue;
              const Value& end = arguments[i + 1];
              if (end.size() != 1) arguments.fail("its limits must be single numbers");
              ends[i] = *end.f32();
            }
            const auto [low, high] = ends;
            return unary([low = low, high = high](float x) { return std::min(high, std::max(low, x)); })(
                arguments);
          }};
}

Operator make_gelu(NodeReader& node) {
  node.expect_inputs(1, 1);
  node.expect_types(ElementType::f32);
  const std::string approximate = node.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") node.refuse_attribute("approximate");
  return {ElementType::f32, approximate == "none" ? unary(gelu) : unary(gelu_tanh)};
}

}  // namespace vit::exporter
