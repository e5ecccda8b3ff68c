// Graphs of small networks, evaluated, against the naive network in double precision.
#include "export/vit_graph.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "export/onnx_check.hpp"
#include "export/onnx_run.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/vit/network_cases.hpp"
#include "tests/vit/stage_expectation.hpp"

namespace vit::exporter {
namespace {

using test::network_case;
using test::NetworkCase;

constexpr double kPromised = 1e-5;  // of the largest magnitude

std::vector<GraphOutput> all_outputs(const ModelConfig& config) {
  std::vector<GraphOutput> outputs{GraphOutput::features, GraphOutput::last_hidden_state,
                                   GraphOutput::hidden_states, GraphOutput::attentions};
  if (config.num_classes > 0)
    outputs.insert(outputs.begin(), {GraphOutput::logits, GraphOutput::probabilities});
  return outputs;
}

std::string output_name(const test::ExpectedStage& stage) {
  switch (stage.stage) {
    case Stage::embeddings:
      return "hidden_states.0";
    case Stage::attention_probs:
      return "attentions." + std::to_string(stage.block);
    case Stage::block:
      return "hidden_states." + std::to_string(stage.block + 1);
    case Stage::last_hidden_state:
      return "last_hidden_state";
    case Stage::features:
      return "features";
    case Stage::logits:
      break;
  }
  return "logits";
}

std::map<std::string, reference::Array> expected_outputs(const NetworkCase& c) {
  std::map<std::string, reference::Array> expected;
  for (test::ExpectedStage& stage : test::stages_of(c, c.config))
    expected[output_name(stage)] = std::move(stage.values);
  if (const auto logits = expected.find("logits"); logits != expected.end()) {
    reference::Array& probabilities = expected["probabilities"] = logits->second;
    const auto K = static_cast<std::size_t>(c.config.num_classes);
    for (std::size_t row = 0; row < probabilities.values.size(); row += K) {
      double sum = 0;
      for (std::size_t k = 0; k < K; ++k)
        sum += probabilities.values[row + k] = std::exp(probabilities.values[row + k]);
      for (std::size_t k = 0; k < K; ++k) probabilities.values[row + k] /= sum;
    }
  }
  return expected;
}

GraphOptions options_of(const NetworkCase& c, std::int64_t opset) {
  GraphOptions options;
  options.opset = opset;
  options.image_size = c.image;
  return options;
}

/// Every output of the graph that is expected has the values that are expected, and there are no others.
void expect_outputs(const Graph& graph, const NetworkCase& c,
                    const std::map<std::string, reference::Array>& expected, const InputValue& input) {
  const auto got = GraphRunner(graph, 1).run({{"pixel_values", input}});
  ASSERT_EQ(got.size(), graph.outputs.size());
  for (const ValueInfo& output : graph.outputs) {
    ASSERT_TRUE(expected.contains(output.name)) << output.name;
    const reference::Array& want = expected.at(output.name);
    const Tensor& values = got.at(output.name);
    ASSERT_EQ(values.shape(), want.shape) << output.name;
    ASSERT_EQ(output.shape.size(), want.shape.size()) << output.name;
    EXPECT_EQ(output.shape.front(), graph.inputs[0].shape.front());
    for (std::size_t i = 1; i < want.shape.size(); ++i) EXPECT_EQ(output.shape[i], Dim(want.shape[i]));
    EXPECT_TRUE(test::matches(output.name, values.view(), want.values, {kPromised})) << c.name;
  }
}

InputValue as_input(const Tensor& pixels) {
  return {reinterpret_cast<const std::byte*>(pixels.data()), ElementType::f32, pixels.shape()};
}

class VitGraph : public testing::TestWithParam<NetworkCase> {};

TEST_P(VitGraph, ComputesWhatTheReferenceDoes) {
  const NetworkCase& c = GetParam();
  const Weights weights = test::lively_weights(c);
  const auto expected = expected_outputs(c);
  const Tensor pixels = test::pixel_values(c);
  for (const auto& [opset, ir] : kOpsets) {
    SCOPED_TRACE("opset " + std::to_string(opset));
    GraphOptions options = options_of(c, opset);  // the default outputs, any batch
    const Graph graph = vit_graph(c.config, weights, options);
    EXPECT_EQ(graph.opset, opset);
    EXPECT_EQ(graph.ir_version, ir);
    const Size2 image = c.image_size();
    EXPECT_EQ(graph.inputs,
              (std::vector<ValueInfo>{{"pixel_values",
                                       ElementType::f32,
                                       {"batch", c.config.num_channels, image.height, image.width}}}));
    EXPECT_EQ(graph.outputs[0].name, c.config.num_classes > 0 ? "logits" : "features");
    EXPECT_EQ(graph.outputs.size(), c.config.num_classes > 0 ? 1U : 2U);
    EXPECT_NO_THROW(check_structure(graph));
    EXPECT_NO_THROW(check_with_libonnx(graph));
    expect_outputs(graph, c, expected, as_input(pixels));
    options.outputs = all_outputs(c.config);
    options.batch = c.batch;
    const Graph whole = vit_graph(c.config, weights, options);
    EXPECT_EQ(whole.inputs[0].shape[0], Dim(c.batch));
    const std::size_t heads = c.config.num_classes > 0 ? 4 : 2;
    EXPECT_EQ(whole.outputs.size(), heads + 1 + 2 * static_cast<std::size_t>(c.config.num_layers));
    EXPECT_NO_THROW(check_structure(whole));
    EXPECT_NO_THROW(check_with_libonnx(whole));
    expect_outputs(whole, c, expected, as_input(pixels));
  }
}

INSTANTIATE_TEST_SUITE_P(All, VitGraph, testing::ValuesIn(test::network_cases()),
                         testing::PrintToStringParamName());

TEST(VitGraphBatch, AnyOneWhereItIsFree) {
  NetworkCase c = network_case("small");
  const Weights weights = test::lively_weights(c);
  for (const auto& [opset, ir] : kOpsets) {
    const Graph graph = vit_graph(c.config, weights, options_of(c, opset));
    for (const std::int64_t batch : {1, 2, 5}) {
      c.batch = batch;
      const Tensor pixels = test::pixel_values(c);
      expect_outputs(graph, c, expected_outputs(c), as_input(pixels));
    }
    const Tensor none({0, 3, 24, 24});
    const float nothing = 0;
    const auto empty = GraphRunner(graph, 1).run(
        {{"pixel_values", {reinterpret_cast<const std::byte*>(&nothing), ElementType::f32, none.shape()}}});
    EXPECT_EQ(empty.at("logits").shape(), (Shape{0, 5}));
  }
}

TEST(VitGraphBatch, NoOtherWhereItIsFixed) {
  NetworkCase c = network_case("batch_3");
  GraphOptions options = options_of(c, 17);
  options.batch = 3;
  const Graph graph = vit_graph(c.config, test::lively_weights(c), options);
  c.batch = 2;
  const Tensor pixels = test::pixel_values(c);
  EXPECT_ERROR(GraphRunner(graph, 1).run({{"pixel_values", as_input(pixels)}}), ErrorCode::invalid_argument,
               "pixel_values");
}

TEST(VitGraphBytes, AreNormalisedInTheGraph) {
  const NetworkCase& c = network_case("patches_not_square");
  const auto [height, width] = c.image_size();
  GraphOptions options = options_of(c, 17);
  options.byte_input = ByteInput{{0.02F, 0.01F, 0.015F}, {-2, -1.5F, 0.25F}};
  options.outputs = {GraphOutput::logits, GraphOutput::hidden_states};
  // Bytes, and the pixels that they stand for.
  const std::int64_t count = c.batch * 3 * height * width;
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  reference::Array pixels({c.batch, 3, height, width});
  std::uint32_t noise = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    noise = noise * 1664525U + 1013904223U;
    bytes[static_cast<std::size_t>(i)] = static_cast<std::byte>(noise >> 24U);
    const auto channel = static_cast<std::size_t>(i % 3);
    const std::int64_t x = i / 3 % width;
    const std::int64_t y = i / 3 / width % height;
    pixels(i / 3 / width / height, i % 3, y, x) =
        static_cast<double>(noise >> 24U) * static_cast<double>(options.byte_input->scale[channel]) +
        static_cast<double>(options.byte_input->offset[channel]);
  }
  Weights weights = test::lively_weights(c);
  const auto stages = reference::forward(c.config, reference::parameters(c.config, weights), pixels);
  const std::map<std::string, reference::Array> expected{{"logits", stages.logits},
                                                         {"hidden_states.0", stages.embeddings},
                                                         {"hidden_states.1", stages.blocks[0]},
                                                         {"hidden_states.2", stages.blocks[1]}};
  for (const auto& [opset, ir] : kOpsets) {
    options.opset = opset;
    const Graph graph = vit_graph(c.config, weights, options);
    EXPECT_EQ(graph.inputs,
              (std::vector<ValueInfo>{
                  {"pixel_values", ElementType::u8, {"batch", height, width, std::int64_t{3}}}}));
    EXPECT_NO_THROW(check_with_libonnx(graph));
    expect_outputs(graph, c, expected, {bytes.data(), ElementType::u8, {c.batch, height, width, 3}});
  }
}

TEST(VitGraphOutputs, ProbabilitiesByTheScoreFunction) {
  const NetworkCase& c = network_case("batch_3");
  GraphOptions options = options_of(c, 17);
  options.outputs = {GraphOutput::probabilities};
  options.score_function = ScoreFunction::sigmoid;
  auto expected = expected_outputs(c);
  for (std::size_t i = 0; i < expected["logits"].values.size(); ++i)
    expected["probabilities"].values[i] = 1 / (1 + std::exp(-expected["logits"].values[i]));
  const Tensor pixels = test::pixel_values(c);
  const Weights weights = test::lively_weights(c);
  expect_outputs(vit_graph(c.config, weights, options), c, expected, as_input(pixels));
  options.score_function = ScoreFunction::none;
  EXPECT_ERROR(vit_graph(c.config, weights, options), ErrorCode::invalid_argument, "probabilities",
               "regression");
}

TEST(VitGraphOutputs, AppearInTheOrderInWhichTheyWereAskedFor) {
  const NetworkCase& c = network_case("small");
  GraphOptions options = options_of(c, 17);
  options.outputs = {GraphOutput::attentions, GraphOutput::logits, GraphOutput::hidden_states};
  std::vector<std::string> names;
  for (const ValueInfo& output : vit_graph(c.config, test::lively_weights(c), options).outputs)
    names.push_back(output.name);
  EXPECT_THAT(names, testing::ElementsAre("attentions.0", "attentions.1", "logits", "hidden_states.0",
                                          "hidden_states.1", "hidden_states.2"));
}

TEST(VitGraphOptions, ThatCannotBe) {
  const NetworkCase& c = network_case("small");
  const Weights weights = test::lively_weights(c);
  const auto refused = [&](auto change, const std::string& what) {
    GraphOptions options;
    change(options);
    EXPECT_ERROR(vit_graph(c.config, weights, options), ErrorCode::invalid_argument, what);
  };
  for (const std::int64_t opset : {0, -1, 12, 14, 18, 24})
    refused([&](auto& o) { o.opset = opset; }, "opset " + std::to_string(opset));
  for (const std::int64_t batch : {0, -1, 65537})
    refused([&](auto& o) { o.batch = batch; }, "batch of " + std::to_string(batch));
  refused([](auto& o) { o.image_size = {7, 24}; }, "7x24");
  refused([](auto& o) { o.image_size = {-8, 24}; }, "-8x24");
  refused([](auto& o) { o.image_size = {std::int64_t{1} << 62U, 24}; }, "x24");
  const NetworkCase& headless = network_case("no_head");
  GraphOptions options;
  options.outputs = {GraphOutput::logits};
  EXPECT_ERROR(vit_graph(headless.config, test::lively_weights(headless), options),
               ErrorCode::invalid_argument, "no classification head");
}

}  // namespace
}  // namespace vit::exporter
