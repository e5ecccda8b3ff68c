// Small graphs for the tests of the evaluator.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "export/onnx_run.hpp"

namespace vit::test {

using exporter::Attribute;
using exporter::ElementType;

/// A graph that grows node by node. Without an output the last value is one, declared as a scalar: enough for
/// what fails before.
struct Sketch {
  exporter::Graph graph;
  std::map<std::string, std::shared_ptr<std::vector<float>>> values;  ///< copies of the sketch share them
  std::map<std::string, exporter::InputValue> inputs;

  /// An input of ones.
  Sketch& input(const std::string& name, const Shape& shape) {
    exporter::ValueInfo info{name, ElementType::f32, {}};
    for (const std::int64_t dim : shape) info.shape.emplace_back(dim);
    graph.inputs.push_back(info);
    values[name] = std::make_shared<std::vector<float>>(static_cast<std::size_t>(element_count(shape)), 1.0F);
    inputs[name] = {reinterpret_cast<const std::byte*>(values[name]->data()), ElementType::f32, shape};
    return *this;
  }

  template <class T>
  Sketch& constant(const std::string& name, ElementType type, const std::vector<T>& data, Shape shape) {
    graph.initializers.push_back({name, type, std::move(shape), [data](std::byte* to) {
                                    std::memcpy(to, data.data(), data.size() * sizeof(T));
                                  }});
    return *this;
  }

  Sketch& integers(const std::string& name, const std::vector<std::int64_t>& data) {
    return constant(name, ElementType::i64, data, {static_cast<std::int64_t>(data.size())});
  }

  Sketch& node(const std::string& op_type, const std::vector<std::string>& from,
               const std::map<std::string, Attribute>& attributes = {}) {
    const std::string number = std::to_string(graph.nodes.size());
    graph.nodes.push_back({"/the/node" + number, op_type, from, {"value" + number}, attributes});
    return *this;
  }

  Sketch& output(const std::string& name, const std::vector<exporter::Dim>& shape) {
    graph.outputs.push_back({name, ElementType::f32, shape});
    return *this;
  }

  void make() {
    if (graph.outputs.empty() && !graph.nodes.empty()) {
      graph.outputs.push_back({graph.nodes.back().outputs.front(), ElementType::f32, {}});
    }
    const exporter::GraphRunner runner(graph, 1);
  }

  std::map<std::string, Tensor> run() {
    make();
    return exporter::GraphRunner(graph, 1).run(inputs);
  }
};

inline Sketch on(const Shape& shape) {
  Sketch sketch;
  sketch.input("x", shape);
  return sketch;
}

}  // namespace vit::test
