// Operators that take tensors apart and put them together.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "export/operators.hpp"
#include "export/strided_copy.hpp"

namespace vit::exporter {
namespace {

/// Copies a piece of a tensor: `shape` elements, from `source_at` on to `target_at` on.
void copy_piece(const Arguments& arguments, const Value& source, const Shape& source_at, Value& target,
                const Shape& target_at, const Shape& shape) {
  const Shape from = row_major_strides(source.shape());
  const Shape to = row_major_strides(target.shape());
  if (element_count(shape) == 0) return;  // the offsets may be beyond the end
  const std::int64_t from_offset =
      std::inner_product(from.begin(), from.end(), source_at.begin(), std::int64_t{0});
  const std::int64_t to_offset = std::inner_product(to.begin(), to.end(), target_at.begin(), std::int64_t{0});
  const std::int64_t bytes = size_of(source.type());
  copy_strided(shape, bytes, {target.bytes() + to_offset * bytes, to},
               {source.bytes() + from_offset * bytes, from}, arguments.workers());
}

Value concat(const Arguments& arguments, std::int64_t wanted_axis) {
  Shape shape = arguments[0].shape();
  const std::size_t axis = arguments.axis(wanted_axis, shape.size());
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    Shape other = arguments[i].shape();
    arguments.expect(other.size() == shape.size(), "the ranks differ");
    shape[axis] += other[axis];
    other[axis] = shape[axis];
    arguments.expect(other == shape && shape[axis] <= kMaxElements, "the other axes do not fit each other");
  }
  Value result = arguments.allocate(arguments[0].type(), shape);
  const Shape start(shape.size(), 0);
  Shape at = start;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    copy_piece(arguments, arguments[i], start, result, at, arguments[i].shape());
    at[axis] += arguments[i].shape()[axis];
  }
  return result;
}

std::vector<std::int64_t> split_sizes(const Arguments& arguments, std::int64_t extent, bool equal) {
  if (arguments.has(1)) return arguments.integers(1);
  const auto parts = static_cast<std::int64_t>(arguments.output_count());
  const std::int64_t size = (extent + parts - 1) / parts;
  std::vector<std::int64_t> sizes(arguments.output_count(), size);
  sizes.back() = extent - (parts - 1) * size;
  if (equal) arguments.expect(sizes.back() == size, "the parts are not equal");
  return sizes;
}

std::vector<Value> split(const Arguments& arguments, std::int64_t wanted_axis, bool equal) {
  const Value& from = arguments[0];
  const std::size_t axis = arguments.axis(wanted_axis, from.shape().size());
  const std::int64_t extent = from.shape()[axis];
  const std::vector<std::int64_t> sizes = split_sizes(arguments, extent, equal);
  arguments.expect(sizes.size() == arguments.output_count(), "another number of parts than outputs");
  std::vector<Value> parts;
  Shape at(from.shape().size(), 0);
  const Shape start = at;
  for (const std::int64_t size : sizes) {
    arguments.expect(size >= 0 && size <= extent - at[axis], "the parts do not fit the axis");
    Shape shape = from.shape();
    shape[axis] = size;
    parts.push_back(arguments.allocate(from.type(), shape));
    copy_piece(arguments, from, at, parts.back(), start, shape);
    at[axis] += size;
  }
  arguments.expect(at[axis] == extent, "the parts do not fit the axis");
  return parts;
}

/// All axes, or those of an input.
std::vector<std::size_t> listed_axes(const Arguments& arguments, std::size_t input, std::size_t count) {
  const std::size_t rank = arguments[0].shape().size();
  if (arguments.has(input)) return arguments.axes(arguments.integers(input), rank);
  std::vector<std::size_t> axes(std::min(count, rank));
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  return axes;
}

Value slice(const Arguments& arguments) {
  const Value& from = arguments[0];
  const std::vector<std::int64_t> starts = arguments.integers(1);
  const std::vector<std::int64_t> ends = arguments.integers(2);
  const std::vector<std::size_t> axes = listed_axes(arguments, 3, starts.size());
  arguments.expect(starts.size() == axes.size() && ends.size() == axes.size(),
                   "starts, ends and axes are not as many");
  if (arguments.has(4)) {
    const std::vector<std::int64_t> steps = arguments.integers(4);
    arguments.expect(steps.size() == axes.size() &&
                         std::all_of(steps.begin(), steps.end(), [](std::int64_t s) { return s == 1; }),
                     "steps other than 1");
  }
  Shape shape = from.shape();
  Shape at(shape.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t extent = shape[axes[i]];
    const auto clip = [&](std::int64_t position) {
      return std::clamp<std::int64_t>(position < 0 ? position + extent : position, 0, extent);
    };
    at[axes[i]] = clip(starts[i]);
    shape[axes[i]] = std::max<std::int64_t>(clip(ends[i]) - at[axes[i]], 0);
  }
  Value result = arguments.allocate(from.type(), shape);
  copy_piece(arguments, from, at, result, Shape(shape.size(), 0), shape);
  return result;
}

Value pad(const Arguments& arguments) {
  const Value& from = arguments[0];
  const std::vector<std::int64_t> pads = arguments.integers(1);
  const std::vector<std::size_t> axes = listed_axes(arguments, 3, kMaxRank);
  arguments.expect(pads.size() == 2 * axes.size(), "not two pads for each axis");
  Shape shape = from.shape();
  Shape at(shape.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t before = pads[i];
    const std::int64_t after = pads[axes.size() + i];
    arguments.expect(before >= 0 && after >= 0 && before <= kMaxElements && after <= kMaxElements,
                     "pads that are negative or too large");
    at[axes[i]] = before;
    shape[axes[i]] += before + after;
  }
  Value result = arguments.allocate(ElementType::f32, shape);
  if (arguments.has(2)) arguments.expect(arguments[2].size() == 1, "the constant is not a scalar");
  std::fill_n(result.f32(), result.size(), arguments.has(2) ? *arguments[2].f32() : 0.0F);
  copy_piece(arguments, from, Shape(shape.size(), 0), result, at, from.shape());
  return result;
}

Value gather(const Arguments& arguments, std::int64_t wanted_axis) {
  const Value& from = arguments[0];
  const Value& indices = arguments[1];
  const std::size_t axis = arguments.axis(wanted_axis, from.shape().size());
  const std::int64_t extent = from.shape()[axis];
  const auto axis_at = from.shape().begin() + static_cast<std::ptrdiff_t>(axis);
  Shape shape(from.shape().begin(), axis_at);
  const std::int64_t outer = element_count(shape);
  const std::int64_t block = element_count(Shape(axis_at + 1, from.shape().end())) * size_of(from.type());
  shape.insert(shape.end(), indices.shape().begin(), indices.shape().end());
  shape.insert(shape.end(), axis_at + 1, from.shape().end());
  Value result = arguments.allocate(from.type(), shape);
  std::byte* to = result.bytes();
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < indices.size(); ++i, to += block) {
      const std::int64_t index = indices.data<std::int64_t>()[i];
      if (index < -extent || index >= extent) arguments.fail(fmt::format("there is no index {}", index));
      const std::int64_t position = o * extent + (index < 0 ? index + extent : index);
      std::memcpy(to, from.bytes() + position * block, static_cast<std::size_t>(block));
    }
  }
  return result;
}

}  // namespace

Operator make_concat(NodeReader& node) {
  node.expect_inputs(1, SIZE_MAX);
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    if (!node.has(i)) node.refuse(fmt::format("its input {} is left out", i));
  }
  node.expect_types(node.type(0));
  const std::optional<std::int64_t> axis = node.integer_or_none("axis");
  if (!axis) node.refuse_attribute("axis");
  return {node.type(0),
          [axis](const Arguments& arguments) -> std::vector<Value> { return {concat(arguments, *axis)}; }};
}

Operator make_split(NodeReader& node) {
  node.expect_inputs(1, 2);
  node.expect_type(1, {ElementType::i64});
  const std::int64_t axis = node.integer("axis", 0);
  bool equal = true;
  if (node.opset() >= 18) {
    const auto outputs = static_cast<std::int64_t>(node.output_count());
    const std::optional<std::int64_t> parts = node.integer_or_none("num_outputs");
    if (parts.has_value() == node.has(1) || (parts && *parts != outputs))
      node.refuse_attribute("num_outputs");
    equal = false;
  }
  return {node.type(0), [axis, equal](const Arguments& arguments) { return split(arguments, axis, equal); }};
}

Operator make_slice(NodeReader& node) {
  node.expect_inputs(3, 5);
  for (std::size_t i = 1; i < 5; ++i) node.expect_type(i, {ElementType::i64});
  return {node.type(0), [](const Arguments& arguments) -> std::vector<Value> { return {slice(arguments)}; }};
}

Operator make_pad(NodeReader& node) {
  node.expect_inputs(2, node.opset() >= 18 ? 4 : 3);
  node.expect_type(0, {ElementType::f32});
  node.expect_type(1, {ElementType::i64});
  node.expect_type(2, {ElementType::f32});
  node.expect_type(3, {ElementType::i64});
  node.expect_text("mode", "constant");
  return {ElementType::f32,
          [](const Arguments& arguments) -> std::vector<Value> { return {pad(arguments)}; }};
}

Operator make_gather(NodeReader& node) {
  node.expect_inputs(2, 2);
  node.expect_type(1, {ElementType::i64});
  const std::int64_t axis = node.integer("axis", 0);
  return {node.type(0),
          [axis](const Arguments& arguments) -> std::vector<Value> { return {gather(arguments, axis)}; }};
}

}  // namespace vit::exporter
