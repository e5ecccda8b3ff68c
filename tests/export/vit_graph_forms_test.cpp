// What a graph is made of: the operators, names and constants that other runtimes rely on.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "export/vit_graph.hpp"
#include "tests/vit/network_cases.hpp"

namespace vit::exporter {
namespace {

using test::network_case;
using test::NetworkCase;
using testing::Contains;
using testing::IsSubsetOf;
using testing::Not;

Graph graph_of(std::string_view name, GraphOptions options = {}) {
  const NetworkCase& c = network_case(name);
  return vit_graph(c.config, test::lively_weights(c), options);
}

GraphOptions opset(std::int64_t number) {
  GraphOptions options;
  options.opset = number;
  return options;
}

std::map<std::string, int> operators(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const Node& node : graph.nodes) ++counts[node.op_type];
  return counts;
}

const Node& node(const Graph& graph, const std::string& name) {
  for (const Node& n : graph.nodes) {
    if (n.name == name) return n;
  }
  throw std::out_of_range("no node " + name);
}

template <class T>
std::vector<T> contents(const Graph& graph, const std::string& name) {
  const Initializer* found = graph.find_initializer(name);
  if (found == nullptr) throw std::out_of_range("no initializer " + name);
  std::vector<T> values(static_cast<std::size_t>(found->bytes()) / sizeof(T));
  found->fill(reinterpret_cast<std::byte*>(values.data()));
  return values;
}

TEST(VitGraphForms, OperatorsOfTheDefault) {
  // Two blocks: 4 norms and the last one; per block 6 linear layers, 2 products, 2 residuals; no head but
  // Gemm. Of the last block the queries and the residual of one token.
  const std::map<std::string, int> expected{{"Conv", 1},
                                            {"Reshape", 1 + 2 * 4},
                                            {"Transpose", 1 + 2 * 4},
                                            {"Pad", 1},
                                            {"Add", 1 + 2 * 9},
                                            {"LayerNormalization", 5},
                                            {"MatMul", 2 * 8},
                                            {"Div", 2 * 2},
                                            {"Softmax", 2},
                                            {"Erf", 2},
                                            {"Mul", 2 * 2},
                                            {"Gather", 1},
                                            {"Gemm", 1},
                                            {"Slice", 2}};
  EXPECT_EQ(operators(graph_of("small")), expected);
}

TEST(VitGraphForms, TheLastBlockIsThatOfTheTokensThatAreRead) {
  const auto slices = [](std::string_view name, GraphOptions options = {}) {
    const Graph graph = graph_of(name, options);
    return std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) {
      return n.name == "/blocks.1/Slice" || n.name == "/blocks.1/attn/q/Slice";
    });
  };
  EXPECT_EQ(slices("small", opset(23)), 2);
  for (const char* name : {"cls_and_mean", "rotary", "relative_per_block"})
    EXPECT_EQ(slices(name), 0) << name;
  for (const GraphOutput output :
       {GraphOutput::last_hidden_state, GraphOutput::hidden_states, GraphOutput::attentions}) {
    GraphOptions options;
    options.outputs = {GraphOutput::logits, output};
    EXPECT_EQ(slices("small", options), 0) << to_string(output);
  }
}

TEST(VitGraphForms, DependOnTheOpset) {
  const auto of13 = operators(graph_of("small", opset(13)));
  EXPECT_EQ(of13.count("LayerNormalization"), 0U);
  EXPECT_EQ(of13.at("ReduceMean"), 2 * 5);
  EXPECT_EQ(of13.at("Pow"), 5);
  EXPECT_EQ(of13.at("Sqrt"), 5);
  const auto of20 = operators(graph_of("small", opset(20)));
  EXPECT_EQ(of20.at("Gelu"), 2);
  EXPECT_EQ(of20.count("Erf"), 0U);
  EXPECT_EQ(of20.count("Attention"), 0U);
  const auto of23 = operators(graph_of("small", opset(23)));
  EXPECT_EQ(of23.at("Attention"), 2);
  EXPECT_EQ(of23.count("Softmax"), 0U);
  const Graph fused = graph_of("small", opset(23));
  EXPECT_EQ(node(fused, "/blocks.0/attn/Attention").attributes,
            (std::map<std::string, Attribute>{{"q_num_heads", std::int64_t{3}},
                                              {"kv_num_heads", std::int64_t{3}}}));
  // Axes became an input with opset 18.
  EXPECT_TRUE(node(graph_of("mean_normed_before"), "/pool/ReduceMean").attributes.contains("axes"));
  const Graph later = graph_of("mean_normed_before", opset(20));
  EXPECT_FALSE(node(later, "/pool/ReduceMean").attributes.contains("axes"));
  EXPECT_EQ(contents<std::int64_t>(later, node(later, "/pool/ReduceMean").inputs.at(1)),
            std::vector<std::int64_t>{1});
  // What one operator cannot say is written out.
  EXPECT_EQ(operators(graph_of("qk_norm", opset(23))).count("Attention"), 0U);
  GraphOptions maps = opset(23);
  maps.outputs = {GraphOutput::logits, GraphOutput::attentions};
  EXPECT_EQ(operators(graph_of("small", maps)).count("Attention"), 0U);
}

class VitGraphPromises : public testing::TestWithParam<NetworkCase> {};

TEST_P(VitGraphPromises, HoldForEveryOpset) {
  NetworkCase c = GetParam();
  const Weights weights = test::lively_weights(c);
  if (c.image_size().height % c.config.patch_size.height != 0 ||
      c.image_size().width % c.config.patch_size.width != 0)
    return;
  for (const auto& [number, ir] : kOpsets) {
    GraphOptions options = opset(number);
    options.image_size = c.image;
    const Graph graph = vit_graph(c.config, weights, options);
    for (const char* banned :
         {"Shape", "Expand", "Constant", "Identity", "Split", "Cast", "If", "Loop", "Unsqueeze"})
      EXPECT_THAT(operators(graph), Not(Contains(testing::Key(banned))));
    std::set<std::string> checkpoint;
    for (const TensorSpec& spec : tensor_table(c.config)) checkpoint.insert(spec.name);
    for (const TensorSpec& spec : tensor_table(graph_config(c.config, options))) checkpoint.insert(spec.name);
    for (const Node& n : graph.nodes) {
      EXPECT_EQ(n.name.front(), '/') << n.name;
      EXPECT_NE(n.name.find("/" + n.op_type), std::string::npos) << n.name;
      if (n.outputs[0] != "logits" && n.outputs[0] != "features" && n.outputs[0] != "last_hidden_state") {
        EXPECT_EQ(n.outputs[0], n.name + "_out");
      }
      if (n.op_type != "LayerNormalization") continue;
      EXPECT_EQ(n.attributes.at("epsilon"), Attribute(c.config.layer_norm_eps));
      EXPECT_EQ(n.attributes.at("axis"), Attribute(std::int64_t{-1}));
    }
    for (const Initializer& i : graph.initializers) {
      if (i.type == ElementType::i64) continue;
      if (i.shape.empty()) {
        EXPECT_EQ(i.type, ElementType::f32) << i.name;
        continue;  // √2, 1, ½, √d
      }
      std::string whole = i.name;  // the layers that are written in parts
      for (const auto& [part, of] :
           std::vector<std::pair<std::string, std::string>>{{".attn.q.", ".attn.qkv."},
                                                            {".attn.k.", ".attn.qkv."},
                                                            {".attn.v.", ".attn.qkv."},
                                                            {"attn_pool.k.", "attn_pool.kv."},
                                                            {"attn_pool.v.", "attn_pool.kv."},
                                                            {".fc1_g.", ".fc1."},
                                                            {".fc1_x.", ".fc1."}}) {
        if (const auto at = whole.find(part); at != std::string::npos) whole.replace(at, part.size(), of);
      }
      EXPECT_TRUE(checkpoint.contains(whole) || i.name == "pos_embed" || i.name.starts_with("zeros_") ||
                  i.name.starts_with("rotary."))
          << i.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, VitGraphPromises, testing::ValuesIn(test::network_cases()),
                         testing::PrintToStringParamName());

TEST(VitGraphForms, ConstantsThatRuntimesLookFor) {
  const Graph graph = graph_of("5_heads_of_7");
  EXPECT_EQ(contents<float>(graph, node(graph, "/blocks.0/attn/Div").inputs[1]),
            std::vector<float>{static_cast<float>(std::sqrt(7.0))});
  EXPECT_EQ(node(graph, "/blocks.0/attn/Div").inputs[1], node(graph, "/blocks.1/attn/Div").inputs[1]);
  EXPECT_EQ(contents<float>(graph, node(graph, "/blocks.0/mlp/act/Div").inputs[1]),
            std::vector<float>{static_cast<float>(std::sqrt(2.0))});
  EXPECT_EQ(contents<std::int64_t>(graph, node(graph, "/embeddings/Pad").inputs[1]),
            (std::vector<std::int64_t>{0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(contents<std::int64_t>(graph, node(graph, "/patch_embed/Reshape").inputs[1]),
            (std::vector<std::int64_t>{0, 35, 9}));
  EXPECT_EQ(contents<std::int64_t>(graph, node(graph, "/blocks.0/attn/q/Reshape").inputs[1]),
            (std::vector<std::int64_t>{0, 0, 5, 7}));
  const Graph wide = graph_of("patches_not_square");
  const Node& conv = node(wide, "/patch_embed/Conv");
  using Ints = std::vector<std::int64_t>;
  EXPECT_EQ(conv.attributes, (std::map<std::string, Attribute>{{"kernel_shape", Ints{8, 4}},
                                                               {"strides", Ints{8, 4}},
                                                               {"pads", Ints{0, 0, 0, 0}},
                                                               {"dilations", Ints{1, 1}},
                                                               {"group", std::int64_t{1}}}));
  EXPECT_EQ(graph.find_initializer("pos_embed")->shape, (Shape{1, 10, 35}));
  EXPECT_EQ(graph.find_initializer("blocks.0.mlp.fc1.weight")->shape, (Shape{35, 53}));
  EXPECT_EQ(graph.find_initializer("head.weight")->shape, (Shape{5, 35}));
}

TEST(VitGraphForms, RoundedWeights) {
  for (const auto& [number, ir] : kOpsets) {
    GraphOptions options = opset(number);
    options.weights = WeightStorage::fp16;
    const Graph halves = graph_of("small", options);
    EXPECT_EQ(operators(halves).at("Cast"), 2 * 6 + 3);  // linear layers; patches, positions, head
    for (const Initializer& i : halves.initializers) {
      const bool matrix = i.shape.size() > 1 && i.type != ElementType::i64;
      EXPECT_EQ(i.type == ElementType::f16, matrix) << i.name;
    }
    options.weights = WeightStorage::int8;
    const Graph bytes = graph_of("small", options);
    EXPECT_EQ(operators(bytes).at("DequantizeLinear"), 2 * 6 + 1);
    EXPECT_EQ(operators(bytes).count("QuantizeLinear"), 0U);
    EXPECT_EQ(bytes.find_initializer("pos_embed")->type, ElementType::f32);
    EXPECT_EQ(bytes.find_initializer("blocks.1.mlp.fc1.weight")->type, ElementType::i8);
    EXPECT_EQ(bytes.find_initializer("blocks.1.mlp.fc1.weight_scale")->shape, (Shape{20}));
    for (const std::int8_t zero : contents<std::int8_t>(bytes, "zero_points_20")) EXPECT_EQ(zero, 0);
    for (const Node& n : bytes.nodes) {
      if (n.op_type != "DequantizeLinear") continue;
      EXPECT_EQ(n.attributes.at("axis"), Attribute(std::int64_t{n.name.starts_with("/head") ? 0 : 1}));
    }
  }
}

TEST(VitGraphForms, RangesRoundTheLinearLayersAlone) {
  GraphOptions options;
  const std::vector<std::string> values = quantized_values(graph_of("small", options));
  EXPECT_EQ(values.size(), 2U * 6);  // one for each linear layer
  for (const std::string& value : values) options.ranges[value] = 2.54F;
  options.weights = WeightStorage::int8;
  const Graph graph = graph_of("small", options);
  // In each block two norms, the context and the activation, each with one reader: q, k and v are one layer.
  EXPECT_EQ(operators(graph).at("QuantizeLinear"), 2 * 4);
  EXPECT_EQ(operators(graph).at("Split"), 2);
  for (const Node& n : graph.nodes) {
    if (n.op_type != "QuantizeLinear") continue;
    EXPECT_EQ(contents<float>(graph, n.inputs.at(1)), std::vector<float>{2.54F / 127});
    EXPECT_EQ(n.inputs.at(2), "zero_point");
  }
}

TEST(VitGraphForms, IdentityOnlyWhereOneValueIsTwoOutputs) {
  GraphOptions options;
  options.outputs = {GraphOutput::last_hidden_state, GraphOutput::hidden_states, GraphOutput::features};
  EXPECT_EQ(operators(graph_of("mean_never_normed", options)).at("Identity"), 1);
  EXPECT_EQ(operators(graph_of("small", options)).count("Identity"), 0U);
  options.outputs.pop_back();
  options.outputs.pop_back();
  EXPECT_EQ(operators(graph_of("mean_never_normed", options)).count("Identity"), 0U);
}

}  // namespace
}  // namespace vit::exporter
