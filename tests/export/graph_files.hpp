// Graphs written to files and compared with what comes back.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <limits>
#include <vector>

#include "export/onnx_file.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::test {

inline std::vector<std::byte> bytes_of(const exporter::Initializer& initializer) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(initializer.bytes()));
  initializer.fill(bytes.data());
  return bytes;
}

/// An initializer of bytes that depend on its name.
inline exporter::Initializer made_up(const std::string& name, exporter::ElementType type, Shape shape) {
  exporter::Initializer initializer{name, type, std::move(shape), {}};
  initializer.fill = [name, size = initializer.bytes()](std::byte* dst) {
    for (std::int64_t i = 0; i < size; ++i) {
      const auto at = static_cast<std::size_t>(i);
      dst[i] =
          static_cast<std::byte>(static_cast<unsigned char>(name[at % name.size()]) + 13 * at + at / 256);
    }
  };
  return initializer;
}

/// Something of every kind that a file can hold. Not a graph that computes anything.
inline exporter::Graph graph_of_every_kind() {
  using exporter::ElementType;
  exporter::Graph graph;
  graph.name = "gräph";
  graph.opset = 20;
  graph.ir_version = 9;
  graph.producer_name = "vitrine";
  graph.producer_version = "0.1 β";
  graph.doc_string = "two\nlines";
  graph.inputs = {{"x", ElementType::f32, {"batch", std::int64_t{3}, std::int64_t{1} << 40}},
                  {"bytes", ElementType::u8, {std::int64_t{2}}},
                  {"number", ElementType::i64, {}}};
  graph.outputs = {{"y", ElementType::f32, {"batch"}}, {"z", ElementType::f16, {}}};
  for (const ElementType type :
       {ElementType::f32, ElementType::f16, ElementType::i8, ElementType::u8, ElementType::i64}) {
    const std::string name(to_string(type));
    graph.initializers.push_back(made_up(name + ".scalar", type, {}));
    graph.initializers.push_back(made_up(name + ".empty", type, {2, 0, 3}));
    graph.initializers.push_back(made_up(name + ".matrix", type, {3, 5}));
  }
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  graph.nodes = {
      {"/a/Op",
       "Op",
       {"x", "", "float32.matrix"},
       {"a"},
       {{"int", std::int64_t{-7}},
        {"least", least},
        {"float", 1e-12F},
        {"string", std::string("naïve")},
        {"empty_string", std::string()},
        {"ints", std::vector<std::int64_t>{1, -2, least, std::numeric_limits<std::int64_t>::max()}},
        {"no_ints", std::vector<std::int64_t>{}}}},
      {"/b/NoInputs", "NoInputs", {}, {"y", "z"}, {}}};
  graph.metadata = {{"names", "{0: 'Äpfel', 1: '林檎'}"}, {"empty", ""}, {"lines", "a\nb\r\n\tc"}};
  return graph;
}

inline void expect_same(const exporter::Graph& got, const exporter::Graph& want) {
  EXPECT_EQ(got.name, want.name);
  EXPECT_EQ(got.opset, want.opset);
  EXPECT_EQ(got.ir_version, want.ir_version);
  EXPECT_EQ(got.producer_name, want.producer_name);
  EXPECT_EQ(got.producer_version, want.producer_version);
  EXPECT_EQ(got.doc_string, want.doc_string);
  EXPECT_EQ(got.inputs, want.inputs);
  EXPECT_EQ(got.outputs, want.outputs);
  EXPECT_EQ(got.nodes, want.nodes);
  EXPECT_EQ(got.metadata, want.metadata);
  ASSERT_EQ(got.initializers.size(), want.initializers.size());
  for (std::size_t i = 0; i < want.initializers.size(); ++i) {
    const exporter::Initializer& a = got.initializers[i];
    const exporter::Initializer& b = want.initializers[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.type, b.type) << b.name;
    ASSERT_EQ(a.shape, b.shape) << b.name;
    EXPECT_EQ(bytes_of(a), bytes_of(b)) << b.name;
  }
}

/// Everything of a graph as text, to tell two apart without a failure.
inline std::string fingerprint(const exporter::OnnxFile& file) {
  const exporter::Graph& g = file.graph;
  std::string text = testing::PrintToString(std::vector<std::string>{
      g.name, std::to_string(g.opset), std::to_string(g.ir_version), g.producer_name, g.producer_version,
      g.doc_string, file.unsupported, file.description, testing::PrintToString(g.metadata)});
  for (const auto* values : {&g.inputs, &g.outputs}) {
    for (const exporter::ValueInfo& v : *values)
      text += "|" + v.name + std::string(to_string(v.type)) + exporter::to_string(v.shape);
  }
  for (const exporter::Node& node : g.nodes) {
    text += "|" + node.name + "," + node.op_type + testing::PrintToString(node.inputs) +
            testing::PrintToString(node.outputs) + testing::PrintToString(node.attributes);
  }
  for (const exporter::Initializer& i : g.initializers) {
    text += "|" + i.name + std::string(to_string(i.type)) + testing::PrintToString(i.shape);
    if (i.fill) {
      const std::vector<std::byte> bytes = bytes_of(i);
      text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
  }
  return text;
}

inline void write_inside(const exporter::Graph& graph, const std::filesystem::path& path) {
  AtomicFile file(path);
  exporter::write_onnx(graph, file);
  file.commit();
}

/// With its data file "NAME.data" beside it.
inline exporter::ExternalData write_outside(const exporter::Graph& graph, const std::filesystem::path& path) {
  const std::string location = path.filename().string() + ".data";
  AtomicFile data(path.parent_path() / location);
  const exporter::ExternalData layout = exporter::write_external_data(graph, data, location);
  AtomicFile file(path);
  exporter::write_onnx(graph, layout, file);
  data.commit();
  file.commit();
  return layout;
}

}  // namespace vit::test
