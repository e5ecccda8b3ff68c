// A graph against the engine, numerically, on pictures of noise.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "export/graph.hpp"
#include "export/onnx_run.hpp"
#include "export/vit_graph.hpp"
#include "vit/model.hpp"
#include "vit/tensor.hpp"

namespace vit::exporter {

/// Values by the names of the graph's outputs ("logits", "hidden_states.3", …), first dimension: pictures.
using NamedTensors = std::map<std::string, Tensor>;

/// One output at one batch size, against what it should be.
struct OutputDifference {
  std::string output;
  std::int64_t batch = 0;
  double largest = 0;                     ///< max |Δ|; NaN if a value is not finite
  double magnitude = 0;                   ///< max |expected|
  std::optional<std::int64_t> same_top1;  ///< how many of the batch; of logits and probabilities
};

/// Pictures for a comparison, each different, the same every time.
struct TestPictures {
  std::vector<std::byte> input;  ///< as the graph takes them: f32 [B, C, H, W] or bytes [B, H, W, C]
  ElementType type = ElementType::f32;
  Shape shape;
  Tensor pixel_values;  ///< the same as the engine takes them: f32 [B, C, H, W]

  /// The first `count` for the graph.
  InputValue first(std::int64_t count) const;
};

TestPictures test_pictures(const ModelConfig& config, const GraphOptions& options, std::int64_t count);

/// The engine's values for the outputs of `graph`, one picture after the other. Throws Error(not_finite)
/// where one is NaN or infinite.
NamedTensors run_engine(const std::shared_ptr<const Model>& model, const Graph& graph,
                        const GraphOptions& options, const TestPictures& pictures, int threads);

/// The graph's values of its outputs, evaluated with the first `batch` pictures at once.
NamedTensors run_graph(const GraphRunner& runner, const Graph& graph, const TestPictures& pictures,
                       std::int64_t batch);

/// Output by output, in the graph's order; `expected` has as many pictures or more.
std::vector<OutputDifference> differences(const Graph& graph, const NamedTensors& got,
                                          const NamedTensors& expected);

/// `got` [batch, …] against the first rows of `expected`. NaN never compares well.
OutputDifference difference(std::string_view name, const ConstTensorView& got,
                            const ConstTensorView& expected);

}  // namespace vit::exporter
