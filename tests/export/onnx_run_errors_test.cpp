// What the evaluator refuses, and what its messages say.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "export/onnx_run.hpp"
#include "tests/export/sketch.hpp"
#include "tests/support/expect_error.hpp"

namespace vit::exporter {
namespace {

using test::on;
using test::Sketch;

constexpr ErrorCode kUnsupported = ErrorCode::model_unsupported;
constexpr ErrorCode kFailed = ErrorCode::verification_failed;
constexpr ErrorCode kInvalid = ErrorCode::invalid_argument;

// ------------------------------------------------------------------------------------- before the graph runs
TEST(OnnxRunErrors, UnknownOperatorNamesItsNode) {
  EXPECT_ERROR(on({2}).node("Tan", {"x"}).make(), kUnsupported, "/the/node0 (Tan)");
  EXPECT_ERROR(on({2}).node("LSTM", {"x"}).make(), kUnsupported, "/the/node0 (LSTM)");
}

TEST(OnnxRunErrors, OperatorsOfALaterOpset) {
  Sketch gelu = on({2}).node("Gelu", {"x"});
  gelu.graph.opset = 19;
  EXPECT_ERROR(gelu.make(), kUnsupported, "/the/node0 (Gelu)", "opset 19", "20");
  Sketch old = on({2}).node("Neg", {"x"});
  old.graph.opset = 12;
  EXPECT_ERROR(old.make(), kUnsupported, "12", "13 to 23");
  old.graph.opset = 24;
  EXPECT_ERROR(old.make(), kUnsupported, "24");
}

struct RefusedAttribute {
  std::string op_type;
  std::vector<std::string> inputs;
  std::string name;
  Attribute value;
  std::int64_t opset = 17;
};

TEST(OnnxRunErrors, AttributesThatChangeTheMeaning) {
  using Numbers = std::vector<std::int64_t>;
  const std::vector<RefusedAttribute> refused = {
      {"Neg", {"x"}, "unheard_of", std::int64_t{1}},
      {"Conv", {"x", "x"}, "group", std::int64_t{2}},
      {"Conv", {"x", "x"}, "auto_pad", "SAME_UPPER"},
      {"Conv", {"x", "x"}, "dilations", Numbers{2, 2}},
      {"Conv", {"x", "x"}, "strides", Numbers{0, 1}},
      {"Conv", {"x", "x"}, "strides", Numbers{1}},
      {"Conv", {"x", "x"}, "pads", Numbers{0, 0, -1, 0}},
      {"Conv", {"x", "x"}, "pads", Numbers{0, 0, std::numeric_limits<std::int64_t>::max(), 0}},
      {"Reshape", {"x", "numbers"}, "allowzero", std::int64_t{1}},
      {"Transpose", {"x"}, "perm", Numbers{0, 0}},
      {"Transpose", {"x"}, "perm", Numbers{0, 2}},
      {"Transpose", {"x"}, "perm", std::int64_t{0}},
      {"Pad", {"x", "numbers"}, "mode", "reflect"},
      {"Softmax", {"x"}, "axis", 1.0F},
      {"LayerNormalization", {"x", "x"}, "stash_type", std::int64_t{10}},
      {"ReduceMean", {"x"}, "keepdims", std::int64_t{2}},
      {"ReduceMean", {"x"}, "axes", Numbers{0}, 18},
      {"ReduceMean", {"x"}, "noop_with_empty_axes", std::int64_t{1}, 18},
      {"Gemm", {"x", "x"}, "transA", std::int64_t{3}},
      {"Gelu", {"x"}, "approximate", "sigmoid", 20},
      {"Cast", {"x"}, "to", std::int64_t{7}},
      {"QuantizeLinear", {"x", "x"}, "output_dtype", std::int64_t{17}, 21},
      {"QuantizeLinear", {"x", "x"}, "block_size", std::int64_t{2}, 21},
      {"QuantizeLinear", {"x", "x"}, "output_dtype", std::int64_t{3}, 19},
      {"DequantizeLinear", {"bytes", "x"}, "output_dtype", std::int64_t{10}, 23},
      {"Split", {"x"}, "num_outputs", std::int64_t{2}, 18},
      {"Split", {"x"}, "num_outputs", std::int64_t{1}, 17},
      {"Attention", {"x", "x", "x"}, "is_causal", std::int64_t{1}, 23},
      {"Attention", {"x", "x", "x"}, "softcap", 1.0F, 23},
      {"Attention", {"x", "x", "x"}, "q_num_heads", std::int64_t{-1}, 23},
      {"Attention", {"x", "x", "x"}, "kv_num_heads", std::int64_t{2}, 23},
      {"Attention", {"x", "x", "x"}, "softmax_precision", std::int64_t{10}, 23},
      {"Attention", {"x", "x", "x"}, "qk_matmul_output_mode", std::int64_t{1}, 23},
      {"Attention", {"x", "x", "x"}, "scale", std::numeric_limits<float>::quiet_NaN(), 23},
  };
  for (const RefusedAttribute& r : refused) {
    SCOPED_TRACE(r.op_type + " " + r.name);
    Sketch sketch = on({2, 2}).integers("numbers", {4});
    sketch.constant<std::int8_t>("bytes", ElementType::i8, {1, 2}, {2});
    sketch.node(r.op_type, r.inputs, {{r.name, r.value}});
    sketch.graph.opset = r.opset;
    EXPECT_ERROR(sketch.make(), kUnsupported, "/the/node0 (" + r.op_type + ")", r.name);
  }
}

TEST(OnnxRunErrors, AttributesThatAreMissing) {
  EXPECT_ERROR(on({2}).node("Concat", {"x"}).make(), kUnsupported, "(Concat)", "axis");
  EXPECT_ERROR(on({2}).node("Cast", {"x"}).make(), kUnsupported, "(Cast)", "to");
}

TEST(OnnxRunErrors, InputsThatNothingDefines) {
  EXPECT_ERROR(on({2}).node("Add", {"x", "y"}).make(), kUnsupported, "/the/node0 (Add)", "y");
  EXPECT_ERROR(on({2}).node("Neg", {"value1"}).node("Neg", {"x"}).make(), kUnsupported, "/the/node0",
               "value1");
  EXPECT_ERROR(on({2}).node("Neg", {"value0"}).make(), kUnsupported, "/the/node0", "value0");
  Sketch output = on({2}).node("Neg", {"x"});
  output.graph.outputs.push_back({"y", ElementType::f32, {}});
  EXPECT_ERROR(output.make(), kUnsupported, "output y");
}

TEST(OnnxRunErrors, NumbersOfInputsAndOutputs) {
  EXPECT_ERROR(on({2}).node("Add", {"x"}).make(), kUnsupported, "/the/node0 (Add)", "1 inputs", "2");
  EXPECT_ERROR(on({2}).node("Add", {"x", "x", "x"}).make(), kUnsupported, "3 inputs");
  EXPECT_ERROR(on({2}).node("Add", {"x", ""}).make(), kUnsupported, "/the/node0", "left out");
  EXPECT_ERROR(on({2}).node("Concat", {"x", ""}, {{"axis", std::int64_t{0}}}).make(), kUnsupported,
               "left out");
  EXPECT_ERROR(on({2}).node("Concat", {}, {{"axis", std::int64_t{0}}}).make(), kUnsupported, "0 inputs");
  Sketch past = on({1, 2, 2, 2});
  past.node("Attention", {"x", "x", "x", "", "x", "x"});
  past.graph.opset = 23;
  EXPECT_ERROR(past.make(), kUnsupported, "(Attention)", "6 inputs");
  Sketch outputs = on({2, 2}).node("LayerNormalization", {"x", "x"});
  outputs.graph.nodes[0].outputs.push_back("mean");
  EXPECT_ERROR(outputs.make(), kUnsupported, "(LayerNormalization)", "2 outputs");
  outputs.graph.nodes[0].outputs = {};
  outputs.graph.outputs = {{"x", ElementType::f32, {}}};
  EXPECT_ERROR(outputs.make(), kUnsupported, "/the/node0 (LayerNormalization)", "0 outputs");
  outputs.graph.nodes[0].outputs = {""};
  EXPECT_ERROR(outputs.make(), kUnsupported, "/the/node0 (LayerNormalization)", "without a name");
}

TEST(OnnxRunErrors, ElementTypes) {
  Sketch sum = on({2}).integers("y", {1, 2});
  EXPECT_ERROR(sum.node("Add", {"x", "y"}).make(), kUnsupported, "/the/node0 (Add)", "y", "int64");
  EXPECT_ERROR(on({2}).node("Reshape", {"x", "x"}).make(), kUnsupported, "(Reshape)", "x", "float32");
  EXPECT_ERROR(on({2}).node("DequantizeLinear", {"x", "x"}).make(), kUnsupported, "(DequantizeLinear)");
  EXPECT_ERROR(on({2}).node("QuantizeLinear", {"x", "x"}).make(), kUnsupported, "value0", "not float32");
}

TEST(OnnxRunErrors, NamesThatAreDefinedTwice) {
  EXPECT_ERROR(on({2}).input("x", {2}).node("Neg", {"x"}).make(), kUnsupported, "x", "twice");
  EXPECT_ERROR(on({2}).integers("x", {2}).node("Neg", {"x"}).make(), kUnsupported, "x", "twice");
  Sketch nodes = on({2}).node("Neg", {"x"}).node("Neg", {"x"});
  nodes.graph.nodes[1].outputs = {"value0"};
  EXPECT_ERROR(nodes.make(), kUnsupported, "value0", "twice");
}

TEST(OnnxRunErrors, InitializersBeyondTheLimits) {
  const auto with = [](const Shape& shape) {
    return on({2}).constant<float>("w", ElementType::f32, {}, shape).node("Neg", {"x"});
  };
  for (const Shape& shape : {Shape{-1}, Shape{1 << 20, 1 << 20}, Shape(9, 1),
                             Shape{0, std::numeric_limits<std::int64_t>::max()}}) {
    EXPECT_ERROR(with(shape).make(), kUnsupported, "the initializer w", vit::to_string(shape));
  }
  Sketch empty = with({1});
  empty.graph.initializers[0].fill = nullptr;
  EXPECT_ERROR(empty.make(), kUnsupported, "the initializer w");
}

TEST(OnnxRunErrors, Threads) {
  const Graph graph = on({2}).node("Neg", {"x"}).graph;
  EXPECT_ERROR(GraphRunner(graph, 0), kInvalid, "thread");
}

// --------------------------------------------------------------------------------------------------- inputs
TEST(OnnxRunErrors, InputsThatAreNotWhatIsDeclared) {
  Sketch missing = on({2, 3}).node("Neg", {"x"});
  missing.inputs.clear();
  EXPECT_ERROR(missing.run(), kInvalid, "x", "missing");
  Sketch shape = on({2, 3}).node("Neg", {"x"});
  shape.inputs["x"].shape = {3, 2};
  EXPECT_ERROR(shape.run(), kInvalid, "x", "[3, 2]", "[2, 3]");
  shape.inputs["x"].shape = {2, 3, 1};
  EXPECT_ERROR(shape.run(), kInvalid, "[2, 3, 1]");
  shape.inputs["x"].shape = {2, -3};
  EXPECT_ERROR(shape.run(), kInvalid, "[2, -3]");
  Sketch type = on({2, 3}).node("Neg", {"x"});
  type.inputs["x"].type = ElementType::u8;
  EXPECT_ERROR(type.run(), kInvalid, "x", "uint8", "float32");
  Sketch nothing = on({2, 3}).node("Neg", {"x"});
  nothing.inputs["x"].data = nullptr;
  EXPECT_ERROR(nothing.run(), kInvalid, "x", "no data");
  Sketch more = on({2, 3}).node("Neg", {"x"});
  more.inputs["y"] = more.inputs["x"];
  EXPECT_ERROR(more.run(), kInvalid, "y");
}

TEST(OnnxRunErrors, NamedDimensionsAreTheSameEverywhere) {
  Sketch sketch = on({2, 3}).input("y", {4, 3}).node("Neg", {"x"});
  sketch.graph.inputs[0].shape[0] = sketch.graph.inputs[1].shape[0] = "batch";
  EXPECT_ERROR(sketch.run(), kInvalid, "y", "[4, 3]", "[batch, 3]");
  sketch.inputs["y"].shape = {2, 3};
  sketch.graph.outputs = {{"value0", ElementType::f32, {std::string("batch"), std::int64_t{3}}}};
  EXPECT_EQ(sketch.run().at("value0").shape(), (Shape{2, 3}));
  sketch.graph.outputs[0].shape = {std::int64_t{3}, std::string("batch")};
  EXPECT_ERROR(sketch.run(), kFailed, "value0", "[2, 3]", "[3, batch]");
}

TEST(OnnxRunErrors, HugeNamedDimensionsAreNotBelieved) {
  Sketch sketch = on({2}).node("Neg", {"x"});
  sketch.graph.inputs[0].shape[0] = "n";
  sketch.inputs["x"].shape = {std::int64_t{1} << 40};
  EXPECT_ERROR(sketch.run(), kInvalid, "x");
}

// ---------------------------------------------------------------------------------------------------- shapes
struct Mismatch {
  std::string op_type;
  std::vector<Shape> shapes;                        ///< of the inputs x0, x1, …
  std::vector<std::vector<std::int64_t>> integers;  ///< the inputs behind them
  std::map<std::string, Attribute> attributes;
  std::int64_t opset = 17;
};

TEST(OnnxRunErrors, ShapesThatDoNotFitAreNamedWithTheNode) {
  using Numbers = std::vector<std::int64_t>;
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  const std::map<std::string, Attribute> two_heads = {{"q_num_heads", std::int64_t{2}},
                                                      {"kv_num_heads", std::int64_t{2}}};
  const std::vector<Mismatch> mismatches = {
      {"Add", {{2, 3}, {2, 4}}, {}, {}},
      {"Pow", {{2, 3}, {3, 3}}, {}, {}},
      {"Add", {{1 << 16, 1}, {1, 1 << 16}}, {}, {}},  // 2³² elements
      {"Reshape", {{2, 3}}, {{5}}, {}},
      {"Reshape", {{2, 3}}, {{-1, -1}}, {}},
      {"Reshape", {{2, 3}}, {{4, -1}}, {}},
      {"Reshape", {{2, 3}}, {{0, 0, 0}}, {}},
      {"Reshape", {{2, 3}}, {{-2, -3}}, {}},
      {"Reshape", {{2, 3}}, {{kLargest, kLargest}}, {}},
      {"Reshape", {{0, 3}}, {{0, -1}}, {}},
      {"Reshape", {{2, 3}}, {{6, 1, 1, 1, 1, 1, 1, 1, 1}}, {}},
      {"Squeeze", {{2, 1}}, {{0}}, {}},
      {"Squeeze", {{2, 1}}, {{1, 1}}, {}},
      {"Squeeze", {{2, 1}}, {{2}}, {}},
      {"Unsqueeze", {{2}}, {{5}}, {}},
      {"Unsqueeze", {{2}}, {{0, 0}}, {}},
      {"Unsqueeze", {{2}}, {{0, 1, 2, 3, 4, 5, 6, 7}}, {}},
      {"Transpose", {{2, 3}}, {}, {{"perm", Numbers{0, 2, 1}}}},
      {"Expand", {{2, 3}}, {{4, 3}}, {}},
      {"Expand", {{2, 3}}, {{-1, 3}}, {}},
      {"Expand", {{1}}, {{1 << 20, 1 << 20}}, {}},
      {"Concat", {{2, 3}, {3, 3}}, {}, {{"axis", std::int64_t{1}}}},
      {"Concat", {{2, 3}, {2}}, {}, {{"axis", std::int64_t{0}}}},
      {"Concat", {{2, 3}, {2, 3}}, {}, {{"axis", std::int64_t{2}}}},
      {"Concat", {{}, {}}, {}, {{"axis", std::int64_t{0}}}},
      {"Split", {{2, 3}}, {{1, 1}}, {}},
      {"Split", {{2, 3}}, {{1}}, {}},
      {"Split", {{2, 3}}, {{3}}, {}},
      {"Split", {{2, 3}}, {{kLargest}}, {}},
      {"Slice", {{2, 3}}, {{0}, {1, 2}}, {}},
      {"Slice", {{2, 3}}, {{0}, {1}, {2}}, {}},
      {"Slice", {{2, 3}}, {{0, 0}, {1, 1}, {0, -2}}, {}},
      {"Slice", {{2, 3}}, {{0}, {1}, {0}, {2}}, {}},
      {"Slice", {{2, 3}}, {{2}, {0}, {0}, {-1}}, {}},
      {"Slice", {{2}}, {{0, 0}, {1, 1}}, {}},
      {"Pad", {{2, 3}}, {{0, 0}}, {}},
      {"Pad", {{2, 3}}, {{0, 0, -1, 0}}, {}},
      {"Pad", {{2, 3}}, {{0, 0, kLargest, 0}}, {}},
      {"Pad", {{2, 3}}, {{0, 0, kLowest, 0}}, {}},
      {"Pad", {{2, 3}}, {{1 << 20, 1 << 20, 0, 0}}, {}},
      {"Gather", {{2, 3}}, {{2}}, {}},
      {"Gather", {{2, 3}}, {{0, -3}}, {}},
      {"Gather", {{2, 3}}, {{kLowest}}, {}},
      {"Gather", {{2, 3}}, {{0}}, {{"axis", std::int64_t{2}}}},
      {"Gather", {{}}, {{0}}, {}},
      {"Softmax", {{2, 3}}, {}, {{"axis", std::int64_t{-3}}}},
      {"Softmax", {{}}, {}, {}},
      {"ReduceMean", {{2, 3}}, {}, {{"axes", Numbers{2}}}},
      {"ReduceMean", {{2, 3}}, {}, {{"axes", Numbers{1, -1}}}},
      {"ReduceMean", {{2, 3}}, {{kLargest}}, {}, 18},
      {"LayerNormalization", {{2, 3}, {2}}, {}, {}},
      {"LayerNormalization", {{2, 3}, {3}, {1}}, {}, {}},
      {"LayerNormalization", {{2, 3}, {3}}, {}, {{"axis", std::int64_t{2}}}},
      {"MatMul", {{2, 3}, {2, 3}}, {}, {}},
      {"MatMul", {{3}, {3, 2}}, {}, {}},
      {"MatMul", {{2, 2, 3}, {3, 3, 2}}, {}, {}},
      {"MatMul", {{1 << 16, 1}, {1, 1 << 16}}, {}, {}},
      {"Gemm", {{2, 3}, {2, 3}}, {}, {}},
      {"Gemm", {{2, 3}, {3, 2}, {3}}, {}, {}},
      {"Gemm", {{2, 3}, {3, 2}, {1, 2, 2}}, {}, {}},
      {"Gemm", {{1, 2, 3}, {3, 2}}, {}, {}},
      {"Conv", {{1, 3, 8, 8}, {4, 2, 4, 4}}, {}, {}},
      {"Conv", {{1, 3, 8, 8}, {4, 3, 9, 4}}, {}, {}},
      {"Conv", {{1, 3, 8, 8}, {4, 3, 4, 4}, {3}}, {}, {}},
      {"Conv", {{1, 3, 8, 8}, {4, 3, 4, 4}}, {}, {{"kernel_shape", Numbers{4, 5}}}},
      {"Conv", {{1, 3, 8, 8}, {4, 3, 0, 4}}, {}, {}},
      {"Conv", {{3, 8, 8}, {4, 3, 4}}, {}, {}},
      {"Conv", {{1, 1, 1, 1}, {1, 1, 1, 1}}, {}, {{"pads", Numbers{1 << 29, 1 << 29, 0, 0}}}},
      {"QuantizeLinear", {{2, 3}, {2}}, {}, {}},
      {"QuantizeLinear", {{2, 3}, {1, 3}}, {}, {}},
      {"QuantizeLinear", {{2, 3}, {3}}, {}, {{"axis", std::int64_t{2}}}},
      {"Attention", {{1, 5, 4}, {1, 5, 4}, {1, 5, 4}}, {}, {}, 23},
      {"Attention", {{1, 5, 3}, {1, 5, 3}, {1, 5, 3}}, {}, two_heads, 23},
      {"Attention", {{1, 5, 4}, {1, 5, 6}, {1, 5, 4}}, {}, two_heads, 23},
      {"Attention", {{1, 5, 4}, {1, 5, 4}, {1, 6, 4}}, {}, two_heads, 23},
      {"Attention", {{1, 5, 4}, {2, 5, 4}, {2, 5, 4}}, {}, two_heads, 23},
      {"Attention", {{1, 5, 4}, {1, 5, 4}, {1, 5, 4}, {5, 4}}, {}, two_heads, 23},
      {"Attention", {{1, 5, 4}, {1, 5, 4}, {1, 5, 4}, {2, 2, 5, 5}}, {}, two_heads, 23},
      {"Attention", {{1, 3, 5, 4}, {1, 2, 5, 4}, {1, 2, 5, 4}}, {}, {}, 23},
      {"Attention", {{1, 2, 5, 4}, {1, 0, 5, 4}, {1, 0, 5, 4}}, {}, {}, 23},
  };
  for (const Mismatch& m : mismatches) {
    Sketch sketch;
    sketch.graph.opset = m.opset;
    std::vector<std::string> inputs;
    for (const Shape& shape : m.shapes) {
      inputs.push_back("x" + std::to_string(inputs.size()));
      sketch.input(inputs.back(), shape);
    }
    for (const auto& numbers : m.integers) {
      inputs.push_back("x" + std::to_string(inputs.size()));
      sketch.integers(inputs.back(), numbers);
    }
    sketch.node(m.op_type, inputs, m.attributes);
    if (m.op_type == "QuantizeLinear") sketch.node("Cast", {"value0"}, {{"to", std::int64_t{1}}});
    SCOPED_TRACE(m.op_type + " " + vit::to_string(m.shapes[0]));
    EXPECT_ERROR(sketch.run(), kFailed, "/the/node0 (" + m.op_type + ")",
                 "x0 " + vit::to_string(m.shapes[0]));
  }
}

TEST(OnnxRunErrors, ValuesThatTogetherTakeTooMuch) {
  // 64 MiB that 300 values share; each counts.
  Sketch sketch = on({1 << 24}).integers("shape", {2, -1});
  for (int i = 0; i < 300; ++i) {
    sketch.node("Reshape", {"x", "shape"});
    sketch.graph.outputs.push_back({"value" + std::to_string(i), ElementType::f32, {}});
  }
  EXPECT_ERROR(sketch.run(), kFailed, "/the/node2", "(Reshape)", "bytes");
}

}  // namespace
}  // namespace vit::exporter
