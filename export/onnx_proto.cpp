// Graph -> Protobuf messages.
#include "export/onnx_proto.hpp"

#include "export/onnx_types.hpp"

namespace vit::exporter {
namespace {

void set_type(onnx::ValueInfoProto& proto, const ValueInfo& value) {
  proto.set_name(value.name);
  auto& tensor = *proto.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx_type(value.type));
  tensor.mutable_shape();
  for (const Dim& dim : value.shape) {
    auto& to = *tensor.mutable_shape()->add_dim();
    if (const auto* name = std::get_if<std::string>(&dim)) {
      to.set_dim_param(*name);
    } else {
      to.set_dim_value(std::get<std::int64_t>(dim));
    }
  }
}

void set_attribute(onnx::AttributeProto& proto, const std::string& name, const Attribute& value) {
  proto.set_name(name);
  if (const auto* i = std::get_if<std::int64_t>(&value)) {
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(*i);
  } else if (const auto* f = std::get_if<float>(&value)) {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(*f);
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    proto.set_type(onnx::AttributeProto::STRING);
    proto.set_s(*s);
  } else {
    proto.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t v : std::get<std::vector<std::int64_t>>(value)) proto.add_ints(v);
  }
}

}  // namespace

onnx::GraphProto graph_head(const Graph& graph) {
  onnx::GraphProto proto;
  for (const Node& node : graph.nodes) {
    onnx::NodeProto& to = *proto.add_node();
    to.set_name(node.name);
    to.set_op_type(node.op_type);
    for (const std::string& name : node.inputs) to.add_input(name);
    for (const std::string& name : node.outputs) to.add_output(name);
    for (const auto& [name, value] : node.attributes) set_attribute(*to.add_attribute(), name, value);
  }
  proto.set_name(graph.name);
  return proto;
}

onnx::GraphProto graph_tail(const Graph& graph) {
  onnx::GraphProto proto;
  for (const ValueInfo& input : graph.inputs) set_type(*proto.add_input(), input);
  for (const ValueInfo& output : graph.outputs) set_type(*proto.add_output(), output);
  return proto;
}

onnx::ModelProto model_head(const Graph& graph) {
  onnx::ModelProto proto;
  proto.set_ir_version(graph.ir_version);
  proto.set_producer_name(graph.producer_name);
  proto.set_producer_version(graph.producer_version);
  if (!graph.doc_string.empty()) proto.set_doc_string(graph.doc_string);
  return proto;
}

onnx::ModelProto model_tail(const Graph& graph) {
  onnx::ModelProto proto;
  proto.add_opset_import()->set_version(graph.opset);
  for (const auto& [key, value] : graph.metadata) {
    onnx::StringStringEntryProto& entry = *proto.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  return proto;
}

void set_header(onnx::TensorProto& proto, const Initializer& initializer) {
  for (const std::int64_t dim : initializer.shape) proto.add_dims(dim);
  proto.set_data_type(onnx_type(initializer.type));
  proto.set_name(initializer.name);
}

onnx::ModelProto to_proto(const Graph& graph) {
  onnx::ModelProto proto = model_head(graph);
  proto.MergeFrom(model_tail(graph));
  onnx::GraphProto& to = *proto.mutable_graph();
  to = graph_head(graph);
  for (const Initializer& initializer : graph.initializers) {
    onnx::TensorProto& tensor = *to.add_initializer();
    set_header(tensor, initializer);
    std::string bytes(static_cast<std::size_t>(initializer.bytes()), '\0');
    initializer.fill(reinterpret_cast<std::byte*>(bytes.data()));
    tensor.set_raw_data(std::move(bytes));
  }
  to.MergeFrom(graph_tail(graph));
  return proto;
}

}  // namespace vit::exporter
