#include "export/onnx_check.hpp"

#include <fmt/format.h>
#include <onnx/checker.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <set>

#include "export/onnx_proto.hpp"
#include "export/onnx_version.hpp"
#include "vit/error.hpp"

namespace vit::exporter {
namespace {

constexpr std::int64_t kSmall = 1024;  // bytes: shapes and scalars, which inference must know

[[noreturn]] void fail(const std::string& what) {
  throw Error(ErrorCode::verification_failed, what);
}

/// The graph with its large weights as inputs, whose types say all that a checker needs.
onnx::ModelProto light_model(const Graph& graph) {
  Graph light = graph;
  light.initializers.clear();
  for (const Initializer& initializer : graph.initializers) {
    if (initializer.bytes() <= kSmall) {
      light.initializers.push_back(initializer);
    } else {
      light.inputs.push_back(
          {initializer.name, initializer.type, {initializer.shape.begin(), initializer.shape.end()}});
    }
  }
  return to_proto(light);
}

bool has_shape(const onnx::ValueInfoProto& value) {
  return value.type().tensor_type().elem_type() != 0 && value.type().tensor_type().has_shape();
}

/// Every value has a type and a shape, and the outputs those that the graph declares.
void check_inferred(const onnx::ModelProto& model) {
  std::set<std::string> known;
  for (const auto& value : model.graph().value_info()) {
    if (has_shape(value)) known.insert(value.name());
  }
  for (const auto& value : model.graph().output()) {
    if (has_shape(value)) known.insert(value.name());
  }
  for (const auto& node : model.graph().node()) {
    for (const std::string& name : node.output()) {
      if (!known.contains(name))
        fail(fmt::format("libonnx cannot infer the shape of {}, of node {}", name, node.name()));
    }
  }
}

}  // namespace

void check_structure(const Graph& graph) {
  std::set<std::string> values;
  std::set<std::string> unused;
  const auto define = [&](const std::string& name, bool must_be_used) {
    if (name.empty() || !values.insert(name).second)
      fail(fmt::format("the value \"{}\" is defined twice", name));
    if (must_be_used) unused.insert(name);
  };
  for (const ValueInfo& input : graph.inputs) define(input.name, true);
  for (const Initializer& initializer : graph.initializers) define(initializer.name, true);
  std::set<std::string> nodes;
  for (const Node& node : graph.nodes) {
    if (!nodes.insert(node.name).second) fail(fmt::format("two nodes are called {}", node.name));
    for (const std::string& name : node.inputs) {
      if (!name.empty() && !values.contains(name))
        fail(fmt::format("node {} uses {}, which nothing before it makes", node.name, name));
      unused.erase(name);
    }
    for (const std::string& name : node.outputs) define(name, true);
  }
  for (const ValueInfo& output : graph.outputs) {
    if (!values.contains(output.name)) fail(fmt::format("nothing makes the output {}", output.name));
    unused.erase(output.name);
  }
  if (!unused.empty()) fail(fmt::format("nothing uses {}", *unused.begin()));
  std::set<std::string> keys;
  for (const auto& [key, value] : graph.metadata) {
    if (!keys.insert(key).second) fail(fmt::format("the metadata key {} occurs twice", key));
  }
}

std::string check_with_libonnx(const Graph& graph) {
  const OnnxLibrary library = onnx_library();
  if (graph.opset > library.opset || graph.ir_version > library.ir_version) {
    return fmt::format("structure only (libonnx {} knows opset {} and IR {})", library.release, library.opset,
                       library.ir_version);
  }
  try {
    onnx::ModelProto model = light_model(graph);
    onnx::checker::check_model(model);
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions(true, 1, true));
    check_inferred(model);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {  // checker::ValidationError, InferenceError and what Protobuf throws
    fail(fmt::format("libonnx {}: {}", library.release, e.what()));
  }
  return fmt::format("structure, libonnx {} (checker and shape inference)", library.release);
}

}  // namespace vit::exporter
