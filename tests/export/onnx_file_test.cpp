// Graph -> file -> graph.
#include "export/onnx_file.hpp"

#include <gmock/gmock.h>

#include "tests/export/graph_files.hpp"
#include "tests/support/expect_error.hpp"

namespace vit::exporter {
namespace {

using test::expect_same;
using test::graph_of_every_kind;
using test::made_up;
using test::read_text;
using test::TempFolder;
using test::write_inside;
using test::write_outside;
using testing::ElementsAre;
using testing::IsEmpty;

/// Weights on both sides of every threshold of the layout.
Graph graph_of_sizes() {
  Graph graph = graph_of_every_kind();
  graph.initializers.clear();
  for (const std::int64_t bytes : {1023, 1024, 1025, 5000, 65535, 65536, 65537, 1, 200000, 1500}) {
    graph.initializers.push_back(made_up("w" + std::to_string(bytes), ElementType::u8, {bytes}));
  }
  return graph;
}

TEST(OnnxFile, ReadsBackWhatWasWritten) {
  const TempFolder folder;
  const Graph graph = graph_of_every_kind();
  write_inside(graph, folder / "m.onnx");
  const OnnxFile file = read_onnx(folder / "m.onnx");
  expect_same(file.graph, graph);
  EXPECT_EQ(file.unsupported, "");
  EXPECT_EQ(file.path, folder / "m.onnx");
  EXPECT_THAT(file.data_files, IsEmpty());
  EXPECT_EQ(file.description, "an ONNX model written by vitrine 0.1 β (opset 20, IR 9)");
  for (const Initializer& i : file.graph.initializers) {  // data are the same bytes as fill gives
    const auto bytes = test::bytes_of(i);
    EXPECT_TRUE(bytes.empty() || std::memcmp(i.data, bytes.data(), bytes.size()) == 0) << i.name;
  }
}

TEST(OnnxFile, ReadsBackWeightsFromADataFile) {
  const TempFolder folder;
  const Graph graph = graph_of_sizes();
  write_outside(graph, folder / "m.onnx");
  const OnnxFile file = read_onnx(folder / "m.onnx");
  expect_same(file.graph, graph);
  EXPECT_EQ(file.unsupported, "");
  EXPECT_THAT(file.data_files, ElementsAre(folder / "m.onnx.data"));
}

TEST(OnnxFile, FindsTheDataFileFromAnywhereButNotByAnotherName) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "a");
  const Graph graph = graph_of_sizes();
  write_outside(graph, folder / "a/m.onnx");
  std::filesystem::rename(folder / "a", folder / "b");
  std::filesystem::rename(folder / "b/m.onnx", folder / "b/renamed.onnx");
  expect_same(read_onnx(folder / "b/renamed.onnx").graph, graph);
  std::filesystem::rename(folder / "b/m.onnx.data", folder / "b/renamed.onnx.data");
  EXPECT_ERROR(read_onnx(folder / "b/renamed.onnx"), ErrorCode::model_not_found, "b/m.onnx.data",
               "not there");
  expect_same(read_onnx(folder / "b/renamed.onnx", folder / "b/renamed.onnx.data").graph, graph);
}

TEST(OnnxFile, ADataFileIsLaidOutAsPromised) {
  const TempFolder folder;
  const Graph graph = graph_of_sizes();
  const ExternalData layout = write_outside(graph, folder / "m.onnx");
  EXPECT_EQ(layout.location, "m.onnx.data");
  const std::string data = read_text(folder / "m.onnx.data");
  std::uint64_t end = 0;
  std::size_t external = 0;
  for (const Initializer& i : graph.initializers) {
    const auto region = layout.regions.find(i.name);
    EXPECT_EQ(region != layout.regions.end(), i.bytes() >= 1024) << i.name;
    if (region == layout.regions.end()) continue;
    ++external;
    const auto [offset, length] = region->second;
    EXPECT_EQ(length, static_cast<std::uint64_t>(i.bytes()));
    EXPECT_EQ(offset % (length >= 65536 ? 65536 : 64), 0U) << i.name;
    EXPECT_GE(offset, end) << i.name;
    EXPECT_EQ(data.find_first_not_of('\0', end) >= offset, true) << "what lies between is not zero";
    const auto bytes = test::bytes_of(i);
    EXPECT_EQ(std::memcmp(data.data() + offset, bytes.data(), bytes.size()), 0) << i.name;
    end = offset + length;
  }
  EXPECT_EQ(external, 8U);
  EXPECT_EQ(data.size(), end);
}

TEST(OnnxFile, IsTheSameBytesEachTime) {
  const TempFolder folder;
  for (const char* name : {"1.onnx", "2.onnx"}) {
    write_inside(graph_of_every_kind(), folder / name);
    std::filesystem::create_directory(folder / (std::string("f") + name));
    write_outside(graph_of_sizes(), folder / (std::string("f") + name) / "m.onnx");
  }
  EXPECT_EQ(read_text(folder / "1.onnx"), read_text(folder / "2.onnx"));
  for (const char* name : {"m.onnx", "m.onnx.data"})
    EXPECT_EQ(read_text(folder / "f1.onnx" / name), read_text(folder / "f2.onnx" / name));
}

TEST(OnnxFile, BytesOfAllInitializers) {
  EXPECT_EQ(initializer_bytes(graph_of_every_kind()), (4 + 2 + 1 + 1 + 8) * (1 + 0 + 15));
  EXPECT_EQ(initializer_bytes({}), 0);
}

TEST(OnnxFile, RefusesMoreThanOneFileCanHold) {
  const TempFolder folder;
  Graph graph;
  graph.initializers.push_back({"huge", ElementType::u8, {kMaxInlineBytes + 1}, [](std::byte*) {
                                  ADD_FAILURE() << "nothing may be read";
                                }});
  AtomicFile file(folder / "m.onnx");
  EXPECT_ERROR(write_onnx(graph, file), ErrorCode::invalid_argument, "m.onnx", "1900000001 bytes",
               "a data file");
}

TEST(OnnxFile, AWeightWithoutAShapeOfItsOwnStaysAsItIs) {
  // Names that Protobuf and paths might trip over.
  const TempFolder folder;
  Graph graph;
  graph.initializers = {made_up("a/b c", ElementType::f32, {1}),
                        made_up("ß", ElementType::i8, {1, 1, 1, 1, 1, 1, 1}),
                        made_up(std::string(3000, 'n'), ElementType::u8, {2000})};
  write_inside(graph, folder / "m.onnx");
  expect_same(read_onnx(folder / "m.onnx").graph, graph);
  write_outside(graph, folder / "n.onnx");
  expect_same(read_onnx(folder / "n.onnx").graph, graph);
}

}  // namespace
}  // namespace vit::exporter
