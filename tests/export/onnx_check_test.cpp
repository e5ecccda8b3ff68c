// Each rule of the checks, planted and caught.
#include "export/onnx_check.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>
#include <ostream>

#include "export/onnx_version.hpp"
#include "tests/export/sketch.hpp"
#include "tests/support/expect_error.hpp"

namespace vit::exporter {
namespace {

using test::on;
using test::Sketch;
using testing::HasSubstr;

/// y = -(x + c)
Graph good() {
  Sketch sketch = on({2, 3}).constant<float>("c", ElementType::f32, {5, 6, 7}, {3});
  sketch.node("Add", {"x", "c"}).node("Neg", {"value0"}).output("value1", {std::int64_t{2}, std::int64_t{3}});
  sketch.graph.name = "g";
  sketch.graph.metadata = {{"a", "1"}, {"b", "1"}};
  return sketch.graph;
}

struct Plant {
  std::string name;
  std::function<void(Graph&)> damage;
  std::string message;
};

std::ostream& operator<<(std::ostream& out, const Plant& plant) {
  return out << plant.name;
}

class CheckStructure : public testing::TestWithParam<Plant> {};

TEST(CheckStructure, AcceptsAGoodGraph) {
  EXPECT_NO_THROW(check_structure(good()));
  Graph graph = good();
  graph.nodes[1].inputs = {"value0", "", "c"};  // an optional input that is left out
  EXPECT_NO_THROW(check_structure(graph));
}

TEST_P(CheckStructure, Catches) {
  Graph graph = good();
  GetParam().damage(graph);
  EXPECT_ERROR(check_structure(graph), ErrorCode::verification_failed, GetParam().message);
}

const std::vector<Plant> kPlants{
    {"TwoNodesOfOneName", [](Graph& g) { g.nodes[1].name = g.nodes[0].name; }, "two nodes are called"},
    {"AValueTwice", [](Graph& g) { g.nodes[1].outputs = {"value0"}; }, "\"value0\" is defined twice"},
    {"AnInputAsResult", [](Graph& g) { g.nodes[0].outputs = {"x"}; }, "\"x\" is defined twice"},
    {"AConstantTwice", [](Graph& g) { g.initializers.push_back(g.initializers[0]); },
     "\"c\" is defined twice"},
    {"AConstantThatIsAnInput", [](Graph& g) { g.initializers[0].name = "x"; }, "\"x\" is defined twice"},
    {"NoName", [](Graph& g) { g.nodes[1].outputs = {""}; }, "\"\" is defined twice"},
    {"Unordered", [](Graph& g) { std::swap(g.nodes[0], g.nodes[1]); },
     "uses value0, which nothing before it"},
    {"ItsOwnResult", [](Graph& g) { g.nodes[0].inputs[0] = "value0"; },
     "uses value0, which nothing before it"},
    {"UnknownValue", [](Graph& g) { g.nodes[0].inputs[1] = "d"; }, "uses d, which nothing before it makes"},
    {"UnusedConstant", [](Graph& g) { g.nodes[0].inputs[1] = "x"; }, "nothing uses c"},
    {"UnusedInput", [](Graph& g) { g.nodes[0].inputs[0] = "c"; }, "nothing uses x"},
    {"UnusedResult", [](Graph& g) { g.nodes[0].outputs.emplace_back("spare"); }, "nothing uses spare"},
    {"NoSuchOutput", [](Graph& g) { g.outputs[0].name = "z"; }, "nothing makes the output z"},
    {"MetadataTwice", [](Graph& g) { g.metadata.emplace_back("a", "2"); }, "metadata key a occurs twice"},
};

INSTANTIATE_TEST_SUITE_P(Plants, CheckStructure, testing::ValuesIn(kPlants),
                         [](const auto& tested) { return tested.param.name; });

class CheckWithLibonnx : public testing::TestWithParam<Plant> {};

TEST(CheckWithLibonnx, SaysWhatItDid) {
  EXPECT_THAT(check_with_libonnx(good()), HasSubstr("libonnx " + onnx_library().release + " (checker and"));
}

TEST_P(CheckWithLibonnx, Catches) {
  Graph graph = good();
  GetParam().damage(graph);
  EXPECT_ERROR(check_with_libonnx(graph), ErrorCode::verification_failed, GetParam().message);
}

const std::vector<Plant> kLibraryPlants{
    {"AnotherShape",
     [](Graph& g) {
       g.outputs[0].shape = {std::int64_t{2}, std::int64_t{4}};
     },
     "libonnx"},
    {"AnotherRank", [](Graph& g) { g.outputs[0].shape = {std::int64_t{6}}; }, "libonnx"},
    {"AnotherType", [](Graph& g) { g.outputs[0].type = ElementType::i64; }, "libonnx"},
    {"ShapesThatDoNotFit", [](Graph& g) { g.inputs[0].shape[1] = std::int64_t{4}; }, "libonnx"},
    {"UnknownOperator", [](Graph& g) { g.nodes[1].op_type = "Nought"; }, "Nought"},
    {"OperatorOfALaterOpset", [](Graph& g) { g.nodes[1].op_type = "Gelu"; }, "Gelu"},
    {"UnknownAttribute", [](Graph& g) { g.nodes[1].attributes["beta"] = 2.0F; }, "beta"},
    {"TooManyInputs", [](Graph& g) { g.nodes[1].inputs.emplace_back("x"); }, "Neg"},
    {"NoGraphName", [](Graph& g) { g.name.clear(); }, "libonnx"},
};

INSTANTIATE_TEST_SUITE_P(Plants, CheckWithLibonnx, testing::ValuesIn(kLibraryPlants),
                         [](const auto& tested) { return tested.param.name; });

TEST(CheckWithLibonnx, SaysThatAnOpsetIsNewer) {
  const OnnxLibrary library = onnx_library();
  const std::string known = fmt::format("structure only (libonnx {} knows opset {} and IR {})",
                                        library.release, library.opset, library.ir_version);
  Graph graph = good();
  graph.opset = library.opset + 1;
  EXPECT_EQ(check_with_libonnx(graph), known);
  graph.opset = library.opset;
  EXPECT_THAT(check_with_libonnx(graph), HasSubstr("checker"));
  graph.ir_version = library.ir_version + 1;
  EXPECT_EQ(check_with_libonnx(graph), known);
}

TEST(CheckWithLibonnx, NeverAsksForLargeWeights) {
  Sketch sketch = on({2, 3000});
  sketch.graph.name = "g";
  sketch.graph.initializers.push_back(
      {"w", ElementType::f32, {3000}, [](std::byte*) { ADD_FAILURE() << "12 kB were read"; }});
  sketch.node("Add", {"x", "w"}).output("value0", {std::int64_t{2}, std::int64_t{3000}});
  EXPECT_NO_THROW(check_with_libonnx(sketch.graph));
  sketch.graph.initializers[0].shape = {2999};
  EXPECT_ERROR(check_with_libonnx(sketch.graph), ErrorCode::verification_failed, "libonnx");
}

}  // namespace
}  // namespace vit::exporter
