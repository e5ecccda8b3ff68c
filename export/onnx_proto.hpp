// Graph -> Protobuf messages. Internal to export/*.cpp, the only files that may include ONNX.
#pragma once

#include <onnx/onnx_pb.h>

#include "export/graph.hpp"

namespace vit::exporter {

// A model is written in this order: model_head, the graph (graph_head, initializers, graph_tail), model_tail.
onnx::ModelProto model_head(const Graph& graph);
onnx::GraphProto graph_head(const Graph& graph);
onnx::GraphProto graph_tail(const Graph& graph);
onnx::ModelProto model_tail(const Graph& graph);

/// Name, shape and type of an initializer.
void set_header(onnx::TensorProto& proto, const Initializer& initializer);

/// All of it in memory, weights included.
onnx::ModelProto to_proto(const Graph& graph);

}  // namespace vit::exporter
