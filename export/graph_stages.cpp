#include "export/graph_stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "vit/error.hpp"

namespace vit::exporter {
namespace {

const Node* first_in(const Graph& graph, const std::string& module) {
  const auto found = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                  [&](const Node& n) { return n.name.starts_with(module + "/"); });
  return found == graph.nodes.end() ? nullptr : &*found;
}

/// Nodes that round a value for others are not of the module whose value it is.
const Node* last_in(const Graph& graph, const std::string& module) {
  const auto found = std::find_if(graph.nodes.rbegin(), graph.nodes.rend(), [&](const Node& n) {
    return n.name.starts_with(module + "/") && n.op_type != "QuantizeLinear" &&
           n.op_type != "DequantizeLinear";
  });
  return found == graph.nodes.rend() ? nullptr : &*found;
}

/// The value that a node reads first, before it was rounded to 8 bits.
std::string unrounded_input(const Graph& graph, const Node& node) {
  std::string value = node.inputs.front();
  for (const char* op : {"DequantizeLinear", "QuantizeLinear"}) {
    const auto made = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) {
      return n.op_type == op && !n.outputs.empty() && n.outputs.front() == value;
    });
    if (made != graph.nodes.end()) value = made->inputs.front();
  }
  return value;
}

std::vector<float> floats_of(const Graph& graph, const char* name) {
  const Initializer* initializer = graph.find_initializer(name);
  if (initializer == nullptr || initializer->type != ElementType::f32) {
    throw Error(ErrorCode::model_unsupported, fmt::format("the graph takes bytes, but has no {}", name));
  }
  std::vector<float> values(static_cast<std::size_t>(initializer->size()));
  initializer->fill(reinterpret_cast<std::byte*>(values.data()));
  return values;
}

/// [C, H, W], value = byte * scale + offset -> bytes [H, W, C]
std::vector<std::byte> to_bytes(const ByteInput& input, const Tensor& pixel_values) {
  const std::vector<float>& scale = input.scale;
  const std::vector<float>& offset = input.offset;
  const std::size_t channels = scale.size();
  const auto pixels = static_cast<std::size_t>(pixel_values.size()) / channels;
  std::vector<std::byte> bytes(pixels * channels);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = 0; i < pixels; ++i) {
      const float value = (pixel_values.data()[c * pixels + i] - offset[c]) / scale[c];
      bytes[i * channels + c] = static_cast<std::byte>(std::clamp(std::nearbyint(value), 0.0F, 255.0F));
    }
  }
  return bytes;
}

/// The first of a batch.
Tensor first_row(const ConstTensorView& value) {
  Shape shape = value.shape;
  if (!shape.empty()) shape.front() = 1;
  Tensor row(shape);
  std::copy_n(value.data, row.size(), row.data());
  return row;
}

}  // namespace

std::map<std::string, std::string> graph_stages(const Graph& graph) {
  std::map<std::string, std::string> stages;
  for (const ValueInfo& output : graph.outputs) {
    if (output.name == "logits" || output.name == "features" || output.name == "last_hidden_state" ||
        output.name.starts_with("hidden_states."))
      stages[output.name] = output.name;
  }
  std::int64_t blocks = 0;
  for (;; ++blocks) {  // what the first node of a block reads is the state in front of it
    const Node* first = first_in(graph, fmt::format("/blocks.{}", blocks));
    if (first == nullptr) break;
    stages[unrounded_input(graph, *first)] = fmt::format("hidden_states.{}", blocks);
  }
  if (blocks == 0) return stages;
  if (const Node* last = last_in(graph, fmt::format("/blocks.{}/ls2", blocks - 1)))
    stages[last->outputs.front()] = fmt::format("hidden_states.{}", blocks);
  if (const Node* norm = last_in(graph, "/norm")) stages[norm->outputs.front()] = "last_hidden_state";
  const Node* head = first_in(graph, "/pre_logits");  // a layer in front of the head reads them
  if (head == nullptr) head = first_in(graph, "/head");
  if (head != nullptr) stages[head->inputs.front()] = "features";
  return stages;
}

std::optional<ByteInput> byte_input_of(const Graph& graph) {
  if (graph.inputs.empty() || graph.inputs.front().type != ElementType::u8) return std::nullopt;
  ByteInput input{floats_of(graph, "preprocess.scale"), floats_of(graph, "preprocess.offset")};
  if (input.scale.size() != input.offset.size())
    throw Error(ErrorCode::model_unsupported, "preprocess.scale and preprocess.offset are not of one size");
  return input;
}

StageValues run_stages(const Graph& graph, const GraphRunner& runner, const Tensor& pixel_values) {
  if (graph.inputs.size() != 1 || graph.inputs.front().shape.size() != 4) {
    throw Error(
        ErrorCode::model_unsupported,
        fmt::format("the graph has {} inputs, expected one picture [batch, C, H, W]", graph.inputs.size()));
  }
  const ValueInfo& input = graph.inputs.front();
  const auto* fixed = std::get_if<std::int64_t>(&input.shape.front());
  const std::int64_t batch = fixed != nullptr ? *fixed : 1;
  const bool bytes = input.type == ElementType::u8;
  std::vector<std::byte> picture;
  if (bytes) {
    picture = to_bytes(*byte_input_of(graph), pixel_values);
  } else {
    picture.resize(static_cast<std::size_t>(pixel_values.size()) * sizeof(float));
    std::memcpy(picture.data(), pixel_values.data(), picture.size());
  }
  std::vector<std::byte> data;
  for (std::int64_t b = 0; b < batch; ++b) data.insert(data.end(), picture.begin(), picture.end());
  const Shape& chw = pixel_values.shape();
  const Shape shape = bytes ? Shape{batch, chw[1], chw[2], chw[0]} : Shape{batch, chw[0], chw[1], chw[2]};

  const std::map<std::string, std::string> stages = graph_stages(graph);
  StageValues values;
  runner.run({{input.name, {data.data(), input.type, shape}}},
             [&](const Node&, const std::string& name, const ConstTensorView& value) {
               if (const auto stage = stages.find(name); stage != stages.end())
                 values.emplace_back(stage->second, first_row(value));
             });
  return values;
}

}  // namespace vit::exporter
