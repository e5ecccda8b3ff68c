// Names, shared constants, and what finish() leaves out.
#include "export/graph_builder.hpp"

#include <gmock/gmock.h>

#include <cstring>
#include <set>

#include "tests/support/expect_error.hpp"

namespace vit::exporter {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

template <class T>
std::vector<T> contents(const Graph& graph, const std::string& name) {
  const Initializer* found = graph.find_initializer(name);
  if (found == nullptr) return {};
  EXPECT_EQ(static_cast<std::size_t>(size_of(found->type)), sizeof(T)) << name;
  std::vector<T> values(static_cast<std::size_t>(found->size()));
  found->fill(reinterpret_cast<std::byte*>(values.data()));
  return values;
}

std::vector<std::string> names(const std::vector<Initializer>& initializers) {
  std::vector<std::string> all;
  for (const Initializer& initializer : initializers) all.push_back(initializer.name);
  return all;
}

GraphBuilder builder() {
  Graph graph;
  graph.opset = 17;
  return GraphBuilder(std::move(graph));
}

TEST(GraphBuilder, NodesAreNamedAfterTheirModuleAndNeverTwice) {
  GraphBuilder b = builder();
  const std::string x = b.input("x", ElementType::f32, {"batch", std::int64_t{3}});
  EXPECT_EQ(b.node("/a", "Add", {x, x}), "/a/Add_out");
  EXPECT_EQ(b.node("/a", "Add", {"/a/Add_out", x}), "/a/Add_1_out");
  EXPECT_EQ(b.node("/a", "Mul", {"/a/Add_1_out", x}), "/a/Mul_out");
  EXPECT_EQ(b.node("/b", "Add", {"/a/Mul_out", x}), "/b/Add_out");
  EXPECT_EQ(b.node("/a", "Add", {"/b/Add_out", x}, {{"k", std::int64_t{1}}}), "/a/Add_2_out");
  b.output("/a/Add_2_out", "y", {"batch", std::int64_t{3}});
  const Graph graph = b.finish();
  std::set<std::string> seen;
  for (const Node& node : graph.nodes) EXPECT_TRUE(seen.insert(node.name).second) << node.name;
  EXPECT_EQ(seen.size(), 5U);
  EXPECT_EQ(graph.nodes.back().outputs, std::vector<std::string>{"y"});
  EXPECT_EQ(graph.nodes.back().attributes.at("k"), Attribute(std::int64_t{1}));
  EXPECT_EQ(graph.outputs, (std::vector<ValueInfo>{{"y", ElementType::f32, {"batch", std::int64_t{3}}}}));
}

TEST(GraphBuilder, ConstantsAreSharedByValue) {
  GraphBuilder b = builder();
  const std::string x = b.input("x", ElementType::f32, {});
  EXPECT_EQ(b.scalar("half", 0.5F), "half");
  EXPECT_EQ(b.scalar("another_half", 0.5F), "half");
  EXPECT_EQ(b.scalar("two", 2.0F), "two");
  EXPECT_EQ(b.ints({0, 0, 12}), b.ints({0, 0, 12}));
  EXPECT_NE(b.ints({0, 0, 12}), b.ints({0, 12}));
  EXPECT_NE(b.ints({7}), b.index(7));  // a vector of one, and a number
  EXPECT_EQ(b.index(7), b.index(7));
  EXPECT_EQ(b.zeros({2, 3}), b.zeros({2, 3}));
  EXPECT_NE(b.zeros({2, 3}), b.zeros({6}));
  EXPECT_EQ(b.zero_points({4}), b.zero_points({4}));
  EXPECT_NE(b.zero_points({4}), b.zeros({4}));
  EXPECT_NE(b.zero_points({}), b.zero_points({1}));
  b.node("/m", "Op",
         {x, b.scalar("", 0.5F), b.scalar("", 2.0F), b.ints({0, 0, 12}), b.ints({-7}), b.index(-7),
          b.ints({}), b.zeros({2, 3}), b.zero_points({}), b.zero_points({4})});
  b.output("/m/Op_out", "y", {});
  const Graph graph = b.finish();
  for (const char* name : {"half", "ints_0_0_12", "index_-7", "ints_"})
    ASSERT_NE(graph.find_initializer(name), nullptr) << name;
  EXPECT_THAT(contents<float>(graph, "half"), ElementsAre(0.5F));
  EXPECT_THAT(contents<float>(graph, "two"), ElementsAre(2.0F));
  EXPECT_EQ(graph.find_initializer("half")->shape, Shape{});
  EXPECT_THAT(contents<std::int64_t>(graph, "ints_0_0_12"), ElementsAre(0, 0, 12));
  EXPECT_EQ(graph.find_initializer("ints_0_0_12")->shape, Shape{3});
  EXPECT_THAT(contents<std::int64_t>(graph, "index_-7"), ElementsAre(-7));
  EXPECT_EQ(graph.find_initializer("index_-7")->shape, Shape{});
  EXPECT_EQ(graph.find_initializer("ints_")->shape, Shape{0});
  EXPECT_EQ(contents<float>(graph, b.zeros({2, 3})), std::vector<float>(6));
  EXPECT_THAT(contents<std::int8_t>(graph, "zero_point"), ElementsAre(0));
  const std::vector<std::string> all = names(graph.initializers);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
}

TEST(GraphBuilder, LeavesOutWhatNoOutputNeeds) {
  GraphBuilder b = builder();
  const std::string x = b.input("x", ElementType::f32, {});
  const auto weight = [&](const std::string& name) { return b.constant(name, {1}, {1.0F}); };
  b.node("/used", "Add", {x, weight("a")});
  b.node("/used", "Optional", {"/used/Add_out", "", weight("b")});
  b.output("/used/Optional_out", "y", {});
  b.node("/dead", "Add", {"y", weight("c")});
  b.node("/dead", "Mul", {"/dead/Add_out", weight("d")});
  weight("e");
  const Graph graph = b.finish();
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.nodes[0].name, "/used/Add");  // in the order in which they were made
  EXPECT_EQ(graph.nodes[1].name, "/used/Optional");
  EXPECT_THAT(names(graph.initializers), ElementsAre("a", "b"));
  EXPECT_EQ(graph.inputs.size(), 1U);
}

TEST(GraphBuilder, OnlyTheNewestResultBecomesAnOutput) {
  GraphBuilder b = builder();
  const std::string x = b.input("x", ElementType::f32, {});
  const std::string first = b.node("/m", "Neg", {x});
  b.node("/m", "Abs", {first});
  EXPECT_ERROR(b.output(first, "y", {}), ErrorCode::internal, "/m/Neg_out");
}

TEST(GraphBuilder, FillsGiveTheSameBytesEachTime) {
  GraphBuilder b = builder();
  b.node("/m", "Op", {b.constant("c", {3}, {1, 2, 3})});
  b.output("/m/Op_out", "y", {});
  const Graph graph = b.finish();
  EXPECT_THAT(contents<float>(graph, "c"), ElementsAre(1, 2, 3));
  EXPECT_THAT(contents<float>(graph, "c"), ElementsAre(1, 2, 3));
  EXPECT_THAT(contents<float>(graph, "no such"), IsEmpty());
}

}  // namespace
}  // namespace vit::exporter
