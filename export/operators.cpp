#include "export/operators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "vit/error.hpp"

namespace vit::exporter {

std::string name_of(const Node& node) {
  if (!node.name.empty() || node.outputs.empty()) return fmt::format("{} ({})", node.name, node.op_type);
  return fmt::format("{} that computes {}", node.op_type, node.outputs.front());
}

// ------------------------------------------------------------------------------------------------ NodeReader
NodeReader::NodeReader(const Node& node, std::int64_t opset, std::vector<std::optional<ElementType>> types)
    : node_(node), opset_(opset), types_(std::move(types)) {}

void NodeReader::refuse(const std::string& why) const {
  throw Error(ErrorCode::model_unsupported,
              fmt::format("cannot evaluate the ONNX node {}: {}", name_of(node_), why));
}

void NodeReader::refuse_attribute(const std::string& attribute) const {
  const auto found = node_.attributes.find(attribute);
  if (found == node_.attributes.end()) refuse("the attribute " + attribute + " is missing");
  const auto shown = [](const auto& value) -> std::string {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, std::string>) return "\"" + value + "\"";
    if constexpr (std::is_arithmetic_v<T>) return fmt::format("{}", value);
    if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) return vit::to_string(value);
  };
  refuse(fmt::format("the attribute {} = {}", attribute, std::visit(shown, found->second)));
}

void NodeReader::expect_inputs(std::size_t least, std::size_t most) const {
  if (types_.size() > most || types_.size() < least) {
    refuse(fmt::format("{} inputs, expected {}", types_.size(),
                       least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most)));
  }
  for (std::size_t i = 0; i < least; ++i) {
    if (!has(i)) refuse(fmt::format("its input {} is left out", i));
  }
}

void NodeReader::expect_outputs(std::size_t least, std::size_t most) const {
  if (output_count() < least || output_count() > most) refuse(fmt::format("{} outputs", output_count()));
  for (const std::string& output : node_.outputs) {
    if (output.empty()) refuse("an output without a name");
  }
}

void NodeReader::expect_type(std::size_t input, std::initializer_list<ElementType> types) const {
  if (!has(input) || std::find(types.begin(), types.end(), type(input)) != types.end()) return;
  refuse(fmt::format("its input {} is {}", node_.inputs[input], to_string(type(input))));
}

void NodeReader::expect_types(ElementType type) const {
  for (std::size_t i = 0; i < types_.size(); ++i) expect_type(i, {type});
}

template <class T>
const T* NodeReader::find(const std::string& attribute) {
  asked_.insert(attribute);
  const auto found = node_.attributes.find(attribute);
  if (found == node_.attributes.end()) return nullptr;
  const T* value = std::get_if<T>(&found->second);
  if (value == nullptr) refuse_attribute(attribute);  // of another type
  return value;
}

std::int64_t NodeReader::integer(const std::string& attribute, std::int64_t fallback) {
  return integer_or_none(attribute).value_or(fallback);
}

std::optional<std::int64_t> NodeReader::integer_or_none(const std::string& attribute) {
  const auto* value = find<std::int64_t>(attribute);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

bool NodeReader::flag(const std::string& attribute, bool fallback) {
  const std::int64_t value = integer(attribute, fallback ? 1 : 0);
  if (value != 0 && value != 1) refuse_attribute(attribute);
  return value == 1;
}

float NodeReader::number(const std::string& attribute, float fallback) {
  const auto* value = find<float>(attribute);
  return value != nullptr ? *value : fallback;
}

std::string NodeReader::text(const std::string& attribute, const std::string& fallback) {
  const auto* value = find<std::string>(attribute);
  return value != nullptr ? *value : fallback;
}

std::optional<std::vector<std::int64_t>> NodeReader::integers(const std::string& attribute) {
  const auto* value = find<std::vector<std::int64_t>>(attribute);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

void NodeReader::expect_integer(const std::string& attribute, std::int64_t value) {
  if (integer(attribute, value) != value) refuse_attribute(attribute);
}

void NodeReader::expect_text(const std::string& attribute, const std::string& value) {
  if (text(attribute, value) != value) refuse_attribute(attribute);
}

void NodeReader::expect_no_more() const {
  for (const auto& [attribute, value] : node_.attributes) {
    if (asked_.count(attribute) == 0) refuse_attribute(attribute);
  }
}

// ------------------------------------------------------------------------------------------------- Arguments
Arguments::Arguments(const Node& node, std::vector<Value> inputs, Workers& workers)
    : node_(node), inputs_(std::move(inputs)), workers_(workers) {}

void Arguments::fail(const std::string& why) const {
  std::string shapes;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (has(i)) shapes += fmt::format(" {} {}", node_.inputs[i], vit::to_string(inputs_[i].shape()));
    if (has(i) && i + 1 < inputs_.size()) shapes += ",";
  }
  throw Error(ErrorCode::verification_failed,
              fmt::format("the ONNX node {}: {}; its inputs are{}", name_of(node_), why, shapes));
}

void Arguments::expect(bool condition, std::string_view why) const {
  if (!condition) fail(std::string(why));
}

Value Arguments::allocate(ElementType type, const Shape& shape) const {
  if (!checked_count(shape)) fail("a result or an intermediate of shape " + vit::to_string(shape));
  return {type, shape};
}

std::vector<std::int64_t> Arguments::integers(std::size_t input) const {
  const Value& value = inputs_[input];
  expect(value.shape().size() <= 1, "numbers that describe a shape are not one-dimensional");
  expect(value.size() <= static_cast<std::int64_t>(2 * kMaxRank) || output_count() > 1,
         "more numbers than a shape has");
  return {value.data<std::int64_t>(), value.data<std::int64_t>() + value.size()};
}

std::size_t Arguments::axis(std::int64_t axis, std::size_t rank) const {
  const auto axes = static_cast<std::int64_t>(rank);
  if (axis < -axes || axis >= axes) fail(fmt::format("there is no axis {}", axis));
  return static_cast<std::size_t>(axis < 0 ? axis + axes : axis);
}

std::vector<std::size_t> Arguments::axes(const std::vector<std::int64_t>& axes, std::size_t rank) const {
  std::vector<std::size_t> result;
  for (const std::int64_t a : axes) {
    result.push_back(axis(a, rank));
    if (std::count(result.begin(), result.end(), result.back()) > 1) fail(fmt::format("axis {} twice", a));
  }
  return result;
}

Shape Arguments::broadcast(const Shape& a, const Shape& b) const {
  Shape result = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  const std::size_t lead = result.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& dim = result[lead + i];
    if (dim == 1) {
      dim = shorter[i];
    } else if (shorter[i] != 1 && shorter[i] != dim) {
      fail(fmt::format("shapes {} and {} do not fit each other", vit::to_string(a), vit::to_string(b)));
    }
  }
  return result;
}

// ------------------------------------------------------------------------------------------------- the table
namespace {

struct Entry {
  std::int64_t since;  ///< opset
  std::function<Operator(NodeReader&)> make;
};

const std::map<std::string, Entry, std::less<>>& operators() {
  static const std::map<std::string, Entry, std::less<>> table = [] {
    std::map<std::string, Entry, std::less<>> t = {
        {"Attention", {23, make_attention}},
        {"Cast", {13, make_cast}},
        {"Clip", {13, make_clip}},
        {"Concat", {13, make_concat}},
        {"Conv", {13, make_conv}},
        {"DequantizeLinear", {13, make_dequantize_linear}},
        {"Expand", {13, make_expand}},
        {"Gather", {13, make_gather}},
        {"Gelu", {20, make_gelu}},
        {"Gemm", {13, make_gemm}},
        {"LayerNormalization", {17, make_layer_normalization}},
        {"MatMul", {13, make_matmul}},
        {"Pad", {13, make_pad}},
        {"QuantizeLinear", {13, make_quantize_linear}},
        {"ReduceMax", {13, make_reduce_max}},
        {"ReduceMean", {13, make_reduce_mean}},
        {"Reshape", {13, make_reshape}},
        {"Slice", {13, make_slice}},
        {"Softmax", {13, make_softmax}},
        {"Split", {13, make_split}},
        {"Squeeze", {13, make_squeeze}},
        {"Transpose", {13, make_transpose}},
        {"Unsqueeze", {13, make_unsqueeze}},
    };
    for (const char* name : {"Add", "Sub", "Mul", "Div", "Pow"}) {
      t[name] = {13, [name](NodeReader& node) { return make_binary(node, name); }};
    }
    for (const char* name :
         {"Sqrt", "Exp", "Sin", "Cos", "Erf", "Tanh", "Sigmoid", "Relu", "Neg", "Identity", "Softplus"}) {
      t[name] = {13, [name](NodeReader& node) { return make_unary(node, name); }};
    }
    for (const char* name : {"LeakyRelu", "HardSigmoid", "Elu", "Selu"}) {
      t[name] = {13, [name](NodeReader& node) { return make_rectifier(node, name); }};
    }
    return t;
  }();
  return table;
}

}  // namespace

Operator make_operator(const Node& node, std::int64_t opset, std::vector<std::optional<ElementType>> types) {
  NodeReader reader(node, opset, std::move(types));
  const auto found = operators().find(node.op_type);
  if (found == operators().end()) reader.refuse("there is no such operator here");
  if (opset < found->second.since) {
    reader.refuse(fmt::format("opset {}, the operator is there since {}", opset, found->second.since));
  }
  reader.expect_outputs(1, node.op_type == "Split" ? node.outputs.size() : 1);
  Operator made = found->second.make(reader);
  reader.expect_no_more();
  return made;
}

}  // namespace vit::exporter
