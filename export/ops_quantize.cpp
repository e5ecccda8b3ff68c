// Operators between element types.
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "export/operators.hpp"

namespace vit::exporter {
namespace {

// ONNX's numbers for element types (TensorProto.DataType).
constexpr std::int64_t kOnnxFloat = 1;
constexpr std::int64_t kOnnxUint8 = 2;
constexpr std::int64_t kOnnxInt8 = 3;

constexpr std::int64_t kGrain = 1 << 15;  // elements that are worth a thread

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16U;
  const std::uint32_t exponent = (half >> 10U) & 0x1FU;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 0) {  // zero or subnormal: fraction · 2⁻²⁴
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 0x1FU ? 0xFFU : exponent + 127 - 15;
  return std::bit_cast<float>(sign | (wide << 23U) | (fraction << 13U));
}

// --------------------------------------------------------------------------------------------------- Cast
template <class T, class F>
void convert(const Arguments& arguments, Value& result, F f) {
  const T* from = arguments[0].data<T>();
  float* to = result.f32();
  arguments.workers().for_parts(result.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = f(from[i]);
  });
}

Value cast_to_float(const Arguments& arguments) {
  Value result = arguments.allocate(ElementType::f32, arguments[0].shape());
  const auto widen = [](auto x) { return static_cast<float>(x); };
  switch (arguments[0].type()) {
    case ElementType::f32:
      return arguments[0];
    case ElementType::f16:
      convert<std::uint16_t>(arguments, result, half_to_float);
      break;
    case ElementType::i8:
      convert<std::int8_t>(arguments, result, widen);
      break;
    case ElementType::u8:
      convert<std::uint8_t>(arguments, result, widen);
      break;
    case ElementType::i64:
      convert<std::int64_t>(arguments, result, widen);
      break;
  }
  return result;
}

// ------------------------------------------------------------------------------------ scales and zero points
/// How the elements of a tensor find their scale: scale[i / inner % extent].
struct ScaleIndex {
  std::int64_t extent;
  std::int64_t inner;

  std::int64_t operator()(std::int64_t i) const { return i / inner % extent; }
};

ScaleIndex scale_index(const Arguments& arguments, std::int64_t wanted_axis) {
  const Shape& shape = arguments[0].shape();
  const Shape& scale = arguments[1].shape();
  arguments.expect(scale.size() <= 1, "the scales are not one-dimensional");
  arguments.expect(!arguments.has(2) || arguments[2].shape() == scale, "not as many zero points as scales");
  if (scale.empty() || scale[0] == 1) return {1, 1};
  const std::size_t axis = arguments.axis(wanted_axis, shape.size());
  arguments.expect(shape[axis] == scale[0], "not one scale for each element of the axis");
  const auto behind = shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1;
  return {scale[0], element_count(Shape(behind, shape.end()))};
}

template <class T>
T quantize(float x, float scale, T zero_point) {
  // Rounds half to even, in the rounding mode that every program starts with.
  const float steps = std::nearbyint(x / scale) + static_cast<float>(zero_point);
  constexpr auto lowest = static_cast<float>(std::numeric_limits<T>::min());
  constexpr auto highest = static_cast<float>(std::numeric_limits<T>::max());
  if (std::isnan(steps)) return zero_point;
  return static_cast<T>(steps < lowest ? lowest : steps > highest ? highest : steps);
}

template <class T>
Value quantize_linear(const Arguments& arguments, ElementType type, std::int64_t axis) {
  const ScaleIndex index = scale_index(arguments, axis);
  Value result = arguments.allocate(type, arguments[0].shape());
  T* to = result.data<T>();
  arguments.workers().for_parts(result.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t s = index(i);
      const T zero_point = arguments.has(2) ? arguments[2].data<T>()[s] : T{0};
      to[i] = quantize(arguments[0].f32()[i], arguments[1].f32()[s], zero_point);
    }
  });
  return result;
}

template <class T>
Value dequantize_linear(const Arguments& arguments, std::int64_t axis) {
  const ScaleIndex index = scale_index(arguments, axis);
  Value result = arguments.allocate(ElementType::f32, arguments[0].shape());
  const T* from = arguments[0].data<T>();
  arguments.workers().for_parts(result.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t s = index(i);
      const int zero_point = arguments.has(2) ? arguments[2].data<T>()[s] : 0;
      result.f32()[i] = static_cast<float>(from[i] - zero_point) * arguments[1].f32()[s];
    }
  });
  return result;
}

}  // namespace

Operator make_cast(NodeReader& node) {
  node.expect_inputs(1, 1);
  if (node.integer("to", 0) != kOnnxFloat) node.refuse_attribute("to");
  if (node.opset() >= 19) node.expect_integer("saturate", 1);  // matters for float8 only
  return {ElementType::f32,
          [](const Arguments& arguments) -> std::vector<Value> { return {cast_to_float(arguments)}; }};
}

Operator make_quantize_linear(NodeReader& node) {
  node.expect_inputs(2, 3);
  node.expect_type(0, {ElementType::f32});
  node.expect_type(1, {ElementType::f32});
  node.expect_type(2, {ElementType::i8, ElementType::u8});
  const std::int64_t axis = node.integer("axis", 1);
  ElementType type = node.has(2) ? node.type(2) : ElementType::u8;
  if (node.opset() >= 19) node.expect_integer("saturate", 1);  // matters for float8 only
  if (node.opset() >= 21) {
    node.expect_integer("block_size", 0);
    const std::int64_t wanted = node.integer("output_dtype", 0);
    if (wanted != 0 && wanted != kOnnxInt8 && wanted != kOnnxUint8) node.refuse_attribute("output_dtype");
    const ElementType named = wanted == kOnnxInt8 ? ElementType::i8 : ElementType::u8;
    if (wanted != 0 && node.has(2) && named != type) node.refuse_attribute("output_dtype");
    if (wanted != 0) type = named;
  }
  if (node.opset() >= 23) node.expect_integer("precision", 0);
  return {type, [type, axis](const Arguments& arguments) -> std::vector<Value> {
            if (type == ElementType::i8) return {quantize_linear<std::int8_t>(arguments, type, axis)};
            return {quantize_linear<std::uint8_t>(arguments, type, axis)};
          }};
}

Operator make_dequantize_linear(NodeReader& node) {
  node.expect_inputs(2, 3);
  node.expect_type(0, {ElementType::i8, ElementType::u8});
  node.expect_type(1, {ElementType::f32});
  const ElementType type = node.type(0);
  node.expect_type(2, {type});
  const std::int64_t axis = node.integer("axis", 1);
  if (node.opset() >= 21) node.expect_integer("block_size", 0);
  if (node.opset() >= 23) {
    const std::int64_t wanted = node.integer("output_dtype", 0);
    if (wanted != 0 && wanted != kOnnxFloat) node.refuse_attribute("output_dtype");
  }
  return {ElementType::f32, [type, axis](const Arguments& arguments) -> std::vector<Value> {
            if (type == ElementType::i8) return {dequantize_linear<std::int8_t>(arguments, axis)};
            return {dequantize_linear<std::uint8_t>(arguments, axis)};
          }};
}

}  // namespace vit::exporter
