// What the evaluator does with a graph as a whole: inputs, outputs, observers, the lives of values.
#include <gmock/gmock.h>

#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "export/onnx_run.hpp"
#include "tests/export/sketch.hpp"

namespace vit::exporter {
namespace {

using test::on;
using test::Sketch;
using testing::ElementsAre;

std::vector<float> elements(const Tensor& tensor) {
  return {tensor.data(), tensor.data() + tensor.size()};
}

TEST(OnnxRunGraph, OutputsMayBeInputsConstantsAndValuesInBetween) {
  Sketch sketch = on({2}).constant<float>("c", ElementType::f32, {5, 7}, {2});
  sketch.node("Add", {"x", "c"}).node("Neg", {"value0"});
  for (const char* name : {"x", "c", "value0", "value1"}) {
    sketch.output(name, {std::int64_t{2}});
  }
  const auto outputs = sketch.run();
  EXPECT_THAT(elements(outputs.at("x")), ElementsAre(1, 1));
  EXPECT_THAT(elements(outputs.at("c")), ElementsAre(5, 7));
  EXPECT_THAT(elements(outputs.at("value0")), ElementsAre(6, 8));
  EXPECT_THAT(elements(outputs.at("value1")), ElementsAre(-6, -8));
}

TEST(OnnxRunGraph, ObserverSeesEachF32ResultInOrder) {
  Sketch sketch = on({2}).constant<float>("scale", ElementType::f32, {0.5F}, {});
  sketch.node("Neg", {"x"})
      .node("QuantizeLinear", {"x", "scale"})
      .node("DequantizeLinear", {"value1", "scale"});
  sketch.node("Neg", {"x"});  // nobody reads it
  sketch.node("Add", {"value0", "value2"}).output("value4", {"n"});
  std::vector<std::string> seen;
  GraphRunner(sketch.graph, 1)
      .run(sketch.inputs, [&](const Node& node, const std::string& name, const ConstTensorView& value) {
        EXPECT_EQ(node.outputs.front(), name);
        EXPECT_EQ(value.shape, Shape{2});
        seen.push_back(node.op_type + " " + std::to_string(static_cast<int>(value.data[1])));
      });
  EXPECT_THAT(seen, ElementsAre("Neg -1", "DequantizeLinear 1", "Neg -1", "Add 0"));
}

TEST(OnnxRunGraph, ObserversExceptionsReachTheCaller) {
  Sketch sketch = on({2}).node("Neg", {"x"}).output("value0", {"n"});
  const GraphRunner runner(sketch.graph, 2);
  EXPECT_THROW(runner.run(sketch.inputs, [](const Node&, const std::string&,
                                            const ConstTensorView&) { throw std::runtime_error("enough"); }),
               std::runtime_error);
  EXPECT_THAT(elements(runner.run(sketch.inputs).at("value0")), ElementsAre(-1, -1));
}

TEST(OnnxRunGraph, InitializersAreFilledForTheNodesThatReadThem) {
  Sketch sketch = on({2});
  int fills = 0;
  sketch.graph.initializers.push_back({"w", ElementType::f32, {1}, [&](std::byte* to) {
                                         ++fills;
                                         const float two = 2;
                                         std::memcpy(to, &two, sizeof two);
                                       }});
  sketch.graph.initializers.push_back(
      {"unused", ElementType::f32, {1}, [](std::byte*) { ADD_FAILURE() << "nobody reads it"; }});
  sketch.node("Mul", {"x", "w"}).node("Neg", {"value0"}).node("Add", {"value1", "w"}).output("value2", {"n"});
  EXPECT_THAT(elements(sketch.run().at("value2")), ElementsAre(0, 0));
  EXPECT_EQ(fills, 2);
}

TEST(OnnxRunGraph, InputsMayBeMisaligned) {
  Sketch sketch = on({3}).node("Neg", {"x"}).output("value0", {"n"});
  std::vector<std::byte> shifted(3 * sizeof(float) + 1);
  const float numbers[] = {1, 2, 3};
  std::memcpy(shifted.data() + 1, numbers, sizeof numbers);
  sketch.inputs["x"].data = shifted.data() + 1;
  EXPECT_THAT(elements(sketch.run().at("value0")), ElementsAre(-1, -2, -3));
}

TEST(OnnxRunGraph, QuantizesWhatIsNoNumberToTheZeroPoint) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  Sketch sketch;
  sketch.constant<float>("x", ElementType::f32, {nan, infinity, -infinity, 0.26F}, {4});
  sketch.constant<float>("scale", ElementType::f32, {0.5F}, {});
  sketch.node("QuantizeLinear", {"x", "scale"}, {{"output_dtype", std::int64_t{3}}});
  sketch.node("Cast", {"value0"}, {{"to", std::int64_t{1}}}).output("value1", {"n"});
  sketch.graph.opset = 21;
  EXPECT_THAT(elements(sketch.run().at("value1")), ElementsAre(0, 127, -128, 1));
}

TEST(OnnxRunGraph, IdentityGivesOneValueTwoNames) {
  Sketch sketch = on({2}).node("Neg", {"x"}).node("Identity", {"value0"});
  sketch.output("value0", {"n"}).output("value1", {"n"});
  const auto outputs = sketch.run();
  EXPECT_THAT(elements(outputs.at("value0")), ElementsAre(-1, -1));
  EXPECT_THAT(elements(outputs.at("value1")), ElementsAre(-1, -1));
}

TEST(OnnxRunGraph, EmptyGraphOfOneInput) {
  Sketch sketch = on({2}).output("x", {"n"});
  EXPECT_THAT(elements(sketch.run().at("x")), ElementsAre(1, 1));
}

}  // namespace
}  // namespace vit::exporter
