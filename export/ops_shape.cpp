// Operators that change the shape, not the order of the elements; and Transpose and Expand.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "export/operators.hpp"
#include "export/strided_copy.hpp"

namespace vit::exporter {
namespace {

Shape resolve_reshape(const Arguments& arguments) {
  const Shape& from = arguments[0].shape();
  Shape shape = arguments.integers(1);
  arguments.expect(shape.size() <= kMaxRank, "more axes than are supported");
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) {
      arguments.expect(i < from.size(), "a 0 in the new shape copies an axis that is not there");
      shape[i] = from[i];
    } else if (shape[i] == -1) {
      arguments.expect(!open, "two dimensions of the new shape are -1");
      open = i;
      shape[i] = 1;
    }
  }
  const auto fail = [&] { arguments.fail("reshape to " + vit::to_string(arguments.integers(1))); };
  const std::optional<std::int64_t> count = checked_count(shape);
  const std::int64_t size = arguments[0].size();
  if (!count) fail();
  if (open) {
    if (*count == 0 || size % *count != 0) fail();
    shape[*open] = size / *count;
  } else if (*count != size) {
    fail();
  }
  return shape;
}

}  // namespace

Operator make_reshape(NodeReader& node) {
  node.expect_inputs(2, 2);
  node.expect_type(1, {ElementType::i64});
  if (node.opset() >= 14) node.expect_integer("allowzero", 0);
  return {node.type(0), [](const Arguments& arguments) -> std::vector<Value> {
            return {arguments[0].reshaped(resolve_reshape(arguments))};
          }};
}

Operator make_squeeze(NodeReader& node) {
  node.expect_inputs(1, 2);
  node.expect_type(1, {ElementType::i64});
  return {node.type(0), [](const Arguments& arguments) -> std::vector<Value> {
            Shape shape = arguments[0].shape();
            if (!arguments.has(1)) {
              shape.erase(std::remove(shape.begin(), shape.end(), 1), shape.end());
              return {arguments[0].reshaped(shape)};
            }
            for (const std::size_t axis : arguments.axes(arguments.integers(1), shape.size())) {
              if (shape[axis] != 1) arguments.fail(fmt::format("axis {} is not 1", axis));
              shape[axis] = -1;
            }
            shape.erase(std::remove(shape.begin(), shape.end(), -1), shape.end());
            return {arguments[0].reshaped(shape)};
          }};
}

Operator make_unsqueeze(NodeReader& node) {
  node.expect_inputs(2, 2);
  node.expect_type(1, {ElementType::i64});
  return {node.type(0), [](const Arguments& arguments) -> std::vector<Value> {
            const Shape& from = arguments[0].shape();
            const std::vector<std::int64_t> wanted = arguments.integers(1);
            const std::size_t rank = from.size() + wanted.size();
            arguments.expect(rank <= kMaxRank, "more axes than are supported");
            Shape shape(rank, -1);
            for (const std::size_t axis : arguments.axes(wanted, rank)) shape[axis] = 1;
            auto next = from.begin();
            for (std::int64_t& dim : shape) {
              if (dim == -1) dim = *next++;
            }
            return {arguments[0].reshaped(shape)};
          }};
}

Operator make_transpose(NodeReader& node) {
  node.expect_inputs(1, 1);
  const std::optional<std::vector<std::int64_t>> perm = node.integers("perm");
  if (perm) {
    std::vector<std::int64_t> sorted = *perm;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (sorted[i] != static_cast<std::int64_t>(i)) node.refuse_attribute("perm");
    }
  }
  return {node.type(0), [perm](const Arguments& arguments) -> std::vector<Value> {
            const Value& from = arguments[0];
            const std::size_t rank = from.shape().size();
            arguments.expect(!perm || perm->size() == rank, "the permutation has another rank");
            const Shape strides = row_major_strides(from.shape());
            Shape shape(rank), source(rank);
            for (std::size_t i = 0; i < rank; ++i) {
              const std::size_t axis = perm ? static_cast<std::size_t>((*perm)[i]) : rank - 1 - i;
              shape[i] = from.shape()[axis];
              source[i] = strides[axis];
            }
            Value to = arguments.allocate(from.type(), shape);
            copy_strided(shape, size_of(from.type()), {to.bytes(), row_major_strides(shape)},
                         {from.bytes(), source}, arguments.workers());
            return {to};
          }};
}

Operator make_expand(NodeReader& node) {
  node.expect_inputs(2, 2);
  node.expect_type(1, {ElementType::i64});
  return {node.type(0), [](const Arguments& arguments) -> std::vector<Value> {
            const Value& from = arguments[0];
            const Shape wanted = arguments.integers(1);
            if (!checked_count(wanted)) arguments.fail("expand to " + vit::to_string(wanted));
            const Shape shape = arguments.broadcast(from.shape(), wanted);
            const Shape own = row_major_strides(from.shape());
            Shape strides(shape.size(), 0);
            const std::size_t lead = shape.size() - own.size();
            for (std::size_t i = 0; i < own.size(); ++i) {
              strides[lead + i] = from.shape()[i] == 1 ? 0 : own[i];
            }
            Value to = arguments.allocate(from.type(), shape);
            copy_strided(shape, size_of(from.type()), {to.bytes(), row_major_strides(shape)},
                         {from.bytes(), strides}, arguments.workers());
            return {to};
          }};
}

}  // namespace vit::exporter
