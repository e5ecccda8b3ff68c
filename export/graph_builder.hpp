// Adds nodes and constants to a graph, one line per operation. Internal to export/.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "export/graph.hpp"
#include "vit/weights.hpp"

namespace vit::exporter {

/// Names follow one rule: a node is "/module/Op", its result the same with "_out". Constants that occur more
/// than once (√d, shapes) are kept once.
class GraphBuilder {
 public:
  using Attributes = std::map<std::string, Attribute>;

  explicit GraphBuilder(Graph graph) : graph_(std::move(graph)) {}

  std::int64_t opset() const { return graph_.opset; }

  std::string input(std::string name, ElementType type, std::vector<Dim> shape);
  /// The newest node's result becomes an output of the graph, by this name; returns the name.
  std::string output(const std::string& value, std::string name, std::vector<Dim> shape);

  /// A weight that is written as `shape`; returns its name.
  std::string initializer(std::string name, ElementType type, Shape shape,
                          std::function<void(std::byte*)> fill);
  /// f32 values that are here already.
  std::string constant(std::string name, Shape shape, std::vector<float> values);
  /// A rank-0 f32 constant, shared by value.
  std::string scalar(std::string_view name, float value);
  /// An int64 vector, or a rank-0 number, shared by value.
  std::string ints(std::vector<std::int64_t> values);
  std::string index(std::int64_t value);
  /// The same by a name of its own, which says what they are; shared by name.
  std::string named_ints(const std::string& name, const Shape& shape, std::vector<std::int64_t> values);
  /// f32 zeros, shared by shape.
  std::string zeros(const Shape& shape);
  /// Zeros of 8 bits, shared by shape: the zero points of symmetric rounding.
  std::string zero_points(const Shape& shape);

  /// Adds "/module/Op" and returns its result's name. `module` ends before the operator: "/blocks.0/attn/q".
  std::string node(std::string_view module, std::string op, std::vector<std::string> inputs,
                   Attributes attributes = {});

  /// A Split along the last axis into `count` results of the given sizes.
  std::vector<std::string> split(std::string_view module, const std::string& value, const std::string& sizes,
                                 int count);

  /// The graph, without nodes and constants that no output needs.
  Graph finish();

 private:
  std::string shared_ints(std::vector<std::int64_t> values, bool scalar);

  Graph graph_;
  std::map<std::string, int> used_names_;
  std::map<std::pair<std::vector<std::int64_t>, bool>, std::string> ints_;
  std::map<std::uint32_t, std::string> scalars_;
  std::map<Shape, std::string> zeros_;
  std::map<Shape, std::string> zero_points_;
};

}  // namespace vit::exporter
