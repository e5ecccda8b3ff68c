// The evaluator against onnx's own: every case of tests/data/make_onnx_ops.py.
#include "export/onnx_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/compare.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::exporter {
namespace {

using Json = nlohmann::json;

const std::string& stored_bytes() {
  static const std::string bytes = test::read_text(VITRINE_TEST_DATA "/onnx/ops.bin");
  return bytes;
}

ElementType type_of(const Json& tensor) {
  for (const ElementType type :
       {ElementType::f32, ElementType::f16, ElementType::i8, ElementType::u8, ElementType::i64}) {
    if (to_string(type) == tensor.at("type").get<std::string>()) return type;
  }
  throw std::runtime_error("another type: " + tensor.dump());
}

const std::byte* data_of(const Json& tensor) {
  return reinterpret_cast<const std::byte*>(stored_bytes().data()) + tensor.at("at").get<std::size_t>();
}

Attribute attribute_of(const Json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return value.get<float>();
  if (value.is_string()) return value.get<std::string>();
  return value.get<std::vector<std::int64_t>>();
}

Graph graph_of(const Json& c) {
  Graph graph;
  graph.opset = c.at("opset").get<std::int64_t>();
  const auto info = [](const Json& tensor) {
    ValueInfo value{tensor.at("name").get<std::string>(), type_of(tensor), {}};
    for (const std::int64_t dim : tensor.at("shape").get<Shape>()) value.shape.emplace_back(dim);
    return value;
  };
  for (const Json& tensor : c.at("inputs")) graph.inputs.push_back(info(tensor));
  for (const Json& tensor : c.at("outputs")) graph.outputs.push_back(info(tensor));
  for (const Json& tensor : c.at("initializers")) {
    Initializer initializer{
        tensor.at("name").get<std::string>(), type_of(tensor), tensor.at("shape").get<Shape>(), {}};
    initializer.fill = [from = data_of(tensor), size = initializer.bytes()](std::byte* to) {
      std::memcpy(to, from, static_cast<std::size_t>(size));
    };
    graph.initializers.push_back(std::move(initializer));
  }
  for (const Json& stored : c.at("nodes")) {
    Node node;
    node.name = "node" + std::to_string(graph.nodes.size());
    node.op_type = stored.at("op").get<std::string>();
    node.inputs = stored.at("inputs").get<std::vector<std::string>>();
    node.outputs = stored.at("outputs").get<std::vector<std::string>>();
    for (const auto& [name, value] : stored.at("attributes").items()) {
      node.attributes[name] = attribute_of(value);
    }
    graph.nodes.push_back(std::move(node));
  }
  return graph;
}

std::map<std::string, InputValue> inputs_of(const Json& c) {
  std::map<std::string, InputValue> inputs;
  for (const Json& tensor : c.at("inputs")) {
    inputs[tensor.at("name").get<std::string>()] = {data_of(tensor), type_of(tensor),
                                                    tensor.at("shape").get<Shape>()};
  }
  return inputs;
}

struct Case {
  Json json;
  std::string name;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.name;
}

std::vector<Case> cases() {
  const Json all = Json::parse(test::read_text(VITRINE_TEST_DATA "/onnx/ops.json"));
  std::vector<Case> result;
  for (const Json& c : all.at("cases")) {
    std::string name = c.at("name").get<std::string>();
    std::replace_if(
        name.begin(), name.end(), [](char x) { return x == '.' || x == '-'; }, '_');
    result.push_back({c, name});
  }
  return result;
}

class OnnxOperator : public testing::TestWithParam<Case> {};

// Both sides round each step to float32: sums of at most 800 products, errors that grow as their square root.
constexpr double kBound = 3e-6;

TEST_P(OnnxOperator, ComputesWhatTheReferenceDoes) {
  const Json& c = GetParam().json;
  const Graph graph = graph_of(c);
  const auto inputs = inputs_of(c);
  for (const int threads : {1, 3}) {
    const std::map<std::string, Tensor> outputs = GraphRunner(graph, threads).run(inputs);
    EXPECT_EQ(outputs.size(), c.at("outputs").size());
    for (const Json& wanted : c.at("outputs")) {
      const std::string name = wanted.at("name").get<std::string>();
      const Tensor& got = outputs.at(name);
      Tensor want(wanted.at("shape").get<Shape>());
      ASSERT_EQ(got.shape(), want.shape());
      if (want.size() == 0) continue;
      std::memcpy(want.data(), data_of(wanted), static_cast<std::size_t>(want.size()) * sizeof(float));
      EXPECT_TRUE(test::matches(name, got.view(), want.view(), {kBound}));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Reference, OnnxOperator, testing::ValuesIn(cases()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace vit::exporter
