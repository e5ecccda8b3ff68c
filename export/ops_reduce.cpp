// Operators that sum along axes, and one that compares. Sums are in double: their errors must not be mistaken
// for the engine's.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "export/operators.hpp"

namespace vit::exporter {
namespace {

std::int64_t product(Shape::const_iterator begin, Shape::const_iterator end) {
  return element_count(Shape(begin, end));
}

/// How many rows are worth a thread.
std::int64_t row_grain(std::int64_t row_size) {
  return 1 + (std::int64_t{1} << 13) / std::max<std::int64_t>(row_size, 1);
}

// ------------------------------------------------------------------------------------------------ Softmax
struct Line {
  std::int64_t count;
  std::int64_t step;
};

void softmax_line(const float* from, float* to, Line line) {
  const std::int64_t end = line.count * line.step;
  float largest = -std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < end; i += line.step) largest = std::max(largest, from[i]);
  double sum = 0;
  for (std::int64_t i = 0; i < end; i += line.step) {
    to[i] = std::exp(from[i] - largest);
    sum += to[i];
  }
  const auto factor = static_cast<float>(1 / sum);
  for (std::int64_t i = 0; i < end; i += line.step) to[i] *= factor;
}

Value softmax(const Arguments& arguments, std::int64_t wanted_axis) {
  const Shape& shape = arguments[0].shape();
  const auto axis = static_cast<std::ptrdiff_t>(arguments.axis(wanted_axis, shape.size()));
  const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
  const std::int64_t inner = product(shape.begin() + axis + 1, shape.end());
  const std::int64_t outer = product(shape.begin(), shape.begin() + axis);
  Value result = arguments.allocate(ElementType::f32, shape);
  const auto body = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t offset = i / inner * extent * inner + i % inner;
      softmax_line(arguments[0].f32() + offset, result.f32() + offset, {extent, inner});
    }
  };
  if (extent > 0) arguments.workers().for_parts(outer * inner, row_grain(extent), body);
  return result;
}

// --------------------------------------------------------------------------------- ReduceMean, ReduceMax
struct Axis {
  std::int64_t extent;
  std::int64_t stride;
};

/// Folds all positions along the axes into `result`, the last of the axes innermost.
template <class F>
void fold_along(const float* from, const std::vector<Axis>& axes, std::size_t first, double& result, F f) {
  const Axis axis = axes[first];
  for (std::int64_t i = 0; i < axis.extent; ++i) {
    const float* at = from + i * axis.stride;
    if (first + 1 == axes.size()) {
      result = f(result, static_cast<double>(*at));
    } else {
      fold_along(at, axes, first + 1, result, f);
    }
  }
}

enum class Reduction { mean, max };

double reduced(Reduction reduction, const float* from, const std::vector<Axis>& axes, std::int64_t count) {
  if (reduction == Reduction::max) {
    double largest = -std::numeric_limits<double>::infinity();
    fold_along(from, axes, 0, largest, [](double x, double y) { return y > x || std::isnan(y) ? y : x; });
    return largest;
  }
  double sum = 0;
  fold_along(from, axes, 0, sum, [](double x, double y) { return x + y; });
  return sum / static_cast<double>(count);
}

Value reduce(Reduction reduction, const Arguments& arguments, const std::vector<std::size_t>& over,
             bool keep) {
  const Value& from = arguments[0];
  const Shape strides = row_major_strides(from.shape());
  std::vector<Axis> along = {{1, 0}};
  std::vector<Axis> kept;
  Shape shape;
  std::int64_t count = 1;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const Axis axis{from.shape()[i], strides[i]};
    const bool is_reduced = std::find(over.begin(), over.end(), i) != over.end();
    (is_reduced ? along : kept).push_back(axis);
    if (is_reduced) count *= axis.extent;
    if (!is_reduced || keep) shape.push_back(is_reduced ? 1 : axis.extent);
  }
  Value result = arguments.allocate(ElementType::f32, shape);
  arguments.workers().for_parts(result.size(), row_grain(count), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t offset = 0;
      std::int64_t rest = i;
      for (std::size_t k = kept.size(); k-- > 0; rest /= kept[k].extent) {
        offset += rest % kept[k].extent * kept[k].stride;
      }
      result.f32()[i] = static_cast<float>(reduced(reduction, from.f32() + offset, along, count));
    }
  });
  return result;
}

// ------------------------------------------------------------------------------------- LayerNormalization
struct NormRow {
  std::int64_t size;
  double epsilon;
  const float* scale;
  const float* bias;  ///< nullptr: none
};

void normalize_row(const float* from, float* to, const NormRow& row) {
  double sum = 0;
  for (std::int64_t i = 0; i < row.size; ++i) sum += from[i];
  const double mean = sum / static_cast<double>(row.size);
  double squares = 0;
  for (std::int64_t i = 0; i < row.size; ++i) squares += (from[i] - mean) * (from[i] - mean);
  const double factor = 1 / std::sqrt(squares / static_cast<double>(row.size) + row.epsilon);
  for (std::int64_t i = 0; i < row.size; ++i) {
    const auto normal = static_cast<float>((from[i] - mean) * factor);
    to[i] = normal * row.scale[i] + (row.bias != nullptr ? row.bias[i] : 0);
  }
}

Value layer_normalization(const Arguments& arguments, std::int64_t wanted_axis, double epsilon) {
  const Shape& shape = arguments[0].shape();
  const auto axis = static_cast<std::ptrdiff_t>(arguments.axis(wanted_axis, shape.size()));
  const Shape normalized(shape.begin() + axis, shape.end());
  const bool has_bias = arguments.has(2);
  arguments.expect(arguments[1].shape() == normalized && (!has_bias || arguments[2].shape() == normalized),
                   "scale and bias do not have the shape of the normalized axes");
  const std::int64_t rows = product(shape.begin(), shape.begin() + axis);
  const NormRow row{element_count(normalized), epsilon, arguments[1].f32(),
                    has_bias ? arguments[2].f32() : nullptr};
  Value result = arguments.allocate(ElementType::f32, shape);
  arguments.workers().for_parts(rows, row_grain(row.size), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      normalize_row(arguments[0].f32() + i * row.size, result.f32() + i * row.size, row);
    }
  });
  return result;
}

// ----------------------------------------------------------------------------------------- attributes
Operator make_reduction(NodeReader& node, Reduction reduction) {
  const bool axes_are_input = node.opset() >= 18;
  node.expect_inputs(1, axes_are_input ? 2 : 1);
  node.expect_type(0, {ElementType::f32});
  node.expect_type(1, {ElementType::i64});
  const bool keep = node.flag("keepdims", true);
  if (axes_are_input) node.expect_integer("noop_with_empty_axes", 0);
  const auto given = axes_are_input ? std::nullopt : node.integers("axes");
  return {ElementType::f32, [=](const Arguments& arguments) -> std::vector<Value> {
            const std::size_t rank = arguments[0].shape().size();
            std::vector<std::int64_t> wanted =
                arguments.has(1) ? arguments.integers(1) : given.value_or(Shape());
            std::vector<std::size_t> axes = arguments.axes(wanted, rank);
            for (std::size_t i = 0; wanted.empty() && i < rank; ++i) axes.push_back(i);  // none means all
            return {reduce(reduction, arguments, axes, keep)};
          }};
}

}  // namespace

Operator make_softmax(NodeReader& node) {
  node.expect_inputs(1, 1);
  node.expect_types(ElementType::f32);
  const std::int64_t axis = node.integer("axis", -1);
  return {ElementType::f32,
          [axis](const Arguments& arguments) -> std::vector<Value> { return {softmax(arguments, axis)}; }};
}

Operator make_reduce_mean(NodeReader& node) {
  return make_reduction(node, Reduction::mean);
}

Operator make_reduce_max(NodeReader& node) {
  return make_reduction(node, Reduction::max);
}

Operator make_layer_normalization(NodeReader& node) {
  node.expect_inputs(2, 3);
  node.expect_types(ElementType::f32);
  const std::int64_t axis = node.integer("axis", -1);
  const double epsilon = node.number("epsilon", 1e-5F);
  node.expect_integer("stash_type", 1);  // float32
  return {ElementType::f32, [=](const Arguments& arguments) -> std::vector<Value> {
            return {layer_normalization(arguments, axis, epsilon)};
          }};
}

}  // namespace vit::exporter
