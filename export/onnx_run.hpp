// Evaluates a graph, to prove that what was written computes what the engine computes. Shares no code with
// vit/'s layers: it reads operators, as any other runtime does. Follows the operators' definitions at
// https://onnx.ai/onnx/operators/ for opsets 13 to 23.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "export/graph.hpp"
#include "vit/tensor.hpp"

namespace vit::exporter {

/// An input of the graph in the input's element type (f32, or u8 for pictures as bytes), row-major; not
/// owned.
struct InputValue {
  const std::byte* data = nullptr;
  ElementType type = ElementType::f32;
  Shape shape;
};

/// Called with the result of each node, as soon as it is there, where that is f32. `name` is the output's
/// name.
using NodeObserver =
    std::function<void(const Node& node, const std::string& name, const ConstTensorView& value)>;

class GraphRunner {
 public:
  /// Checks every node: an operator, attribute or element type that it cannot evaluate throws
  /// Error(model_unsupported) naming the node. `graph` must outlive the runner. `threads`: that run() uses,
  /// at least 1.
  GraphRunner(const Graph& graph, int threads);
  ~GraphRunner();
  GraphRunner(const GraphRunner&) = delete;
  GraphRunner& operator=(const GraphRunner&) = delete;

  /// The graph's outputs by name, all of them f32. Initializers are filled when a node needs them and dropped
  /// after it: memory is that of the intermediate results and the largest weight. Throws Error:
  /// invalid_argument (inputs that are missing, or whose shape or type is not what the graph declares),
  /// verification_failed (shapes that do not fit somewhere inside: names the node, and the shapes found).
  std::map<std::string, Tensor> run(const std::map<std::string, InputValue>& inputs,
                                    const NodeObserver& observer = {}) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vit::exporter
