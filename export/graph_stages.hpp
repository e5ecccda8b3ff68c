// Where the stages of the forward pass are in a graph of vit_graph, for comparing it with something else.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "export/graph.hpp"
#include "export/onnx_run.hpp"
#include "export/vit_graph.hpp"
#include "vit/tensor.hpp"

namespace vit::exporter {

/// Stages in the order of the forward pass, by the names that `vitrine run` gives them: hidden_states.0 …,
/// last_hidden_state, features, logits.
using StageValues = std::vector<std::pair<std::string, Tensor>>;

/// Value in the graph -> name of its stage. Of a graph that another program wrote only its outputs that have
/// such names.
std::map<std::string, std::string> graph_stages(const Graph& graph);

/// How a graph that takes bytes makes numbers of them; nothing of one that takes floats. Throws
/// Error(model_unsupported) if it takes bytes and does not say.
std::optional<ByteInput> byte_input_of(const Graph& graph);

/// Evaluates the graph for one picture, pixel_values f32 [C, H, W] as the network takes it. A graph that
/// takes bytes gets the bytes that these values come from, one with a fixed batch the same picture for all of
/// it. Throws Error: invalid_argument (a picture of another size), and what GraphRunner::run throws.
StageValues run_stages(const Graph& graph, const GraphRunner& runner, const Tensor& pixel_values);

}  // namespace vit::exporter
