// Files that are damaged, hostile, or something else.
#include <gmock/gmock.h>

#include <limits>
#include <set>

#include "export/onnx_file.hpp"
#include "export/onnx_import.hpp"
#include "export/onnx_run.hpp"
#include "export/vit_graph.hpp"
#include "tests/export/graph_files.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/vit/network_cases.hpp"

namespace vit::exporter {
namespace {

using test::graph_of_every_kind;
using test::made_up;
using test::read_text;
using test::TempFolder;
using test::write_inside;
using test::write_outside;
using testing::HasSubstr;

constexpr auto kInvalid = ErrorCode::weights_invalid;

/// A file, and what reading it comes to: everything that is in it as text, or "error".
struct Readable {
  TempFolder folder;
  std::string bytes;

  explicit Readable(const Graph& graph) {
    write_inside(graph, folder / "m.onnx");
    bytes = read_text(folder / "m.onnx");
  }

  std::string outcome(const std::string& content) const {
    try {
      return test::fingerprint(read_onnx(folder.write("damaged.onnx", content)));
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), HasSubstr("damaged.onnx"));
      EXPECT_NE(e.code(), ErrorCode::internal) << e.what();
      return "error";
    }
  }
};

TEST(OnnxFileDamaged, TruncatedAnywhere) {
  const Readable file(graph_of_every_kind());
  const std::string whole = file.outcome(file.bytes);
  ASSERT_NE(whole, "error");
  for (std::size_t size = 0; size < file.bytes.size(); ++size)
    ASSERT_NE(file.outcome(file.bytes.substr(0, size)), whole) << size;
}

std::string changed(std::string bytes, std::size_t at, unsigned change) {
  bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ change);
  return bytes;
}

TEST(OnnxFileDamaged, EachByteChanged) {
  const Readable file(graph_of_every_kind());
  const std::string whole = file.outcome(file.bytes);
  std::size_t unnoticed = 0;
  for (std::size_t at = 0; at < file.bytes.size(); ++at) {
    for (const unsigned change : {0x01U, 0x08U, 0x80U, 0xFFU})
      unnoticed += file.outcome(changed(file.bytes, at, change)) == whole ? 1 : 0;
  }
  // Only where a field that is empty becomes one that is not known: empty is also what a missing one means.
  EXPECT_LE(unnoticed, 20U);
}

TEST(OnnxFileDamaged, ANetworkWithAByteChangedIsRunOrRefused) {
  const test::NetworkCase& network = test::network_case("one_of_everything");
  Graph graph = vit_graph(network.config, test::lively_weights(network), {});
  graph.metadata.emplace_back(kFormatKey, kFormat);
  const Readable good(graph);
  std::size_t accepted = 0;
  for (std::size_t at = 0; at < good.bytes.size(); at += 2) {
    try {
      const auto path = good.folder.write("damaged.onnx", changed(good.bytes, at, at % 4 == 0 ? 0x01 : 0x12));
      const auto file = std::make_shared<const OnnxFile>(read_onnx(path));
      require_ours(*file);
      read_weights(file, network.config);
      const GraphRunner runner(file->graph, 1);
      ++accepted;
    } catch (const Error& e) {
      EXPECT_NE(e.code(), ErrorCode::internal) << e.what();
    }
  }
  EXPECT_GT(accepted, 0U);  // a name or a number that is another one
  EXPECT_LT(accepted, good.bytes.size() / 4);
}

TEST(OnnxFileDamaged, SaysWhatItIs) {
  const TempFolder folder;
  const auto refused = [&](const std::string& bytes, const std::string& what) {
    EXPECT_ERROR(read_onnx(folder.write("m.onnx", bytes)), kInvalid, "m.onnx", what);
  };
  refused("", "the file is empty");
  refused("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 2738632\n", "git lfs pull");
  refused("<!doctype html>\n<html><head><title>Sign in</title></head></html>\n", "web page");
  refused("not an ONNX model", "not an ONNX model");
  refused(std::string(1000, '\0'), "not an ONNX model");
  refused(std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16), "not an ONNX model");
  refused("\x08\x08", "not an ONNX model");  // an IR version, and no graph
  EXPECT_ERROR(read_onnx(folder / "none.onnx"), ErrorCode::model_not_found, "none.onnx");
  EXPECT_ERROR(read_onnx(folder.path()), kInvalid, folder.path().string());
}

TEST(OnnxFileDamaged, DeepNestingIsRefused) {
  const TempFolder folder;
  // Groups in groups (field 1000), and messages in messages: a tensor type of sequences of sequences.
  std::string groups;
  for (int i = 0; i < 100000; ++i) groups += "\xC3\x3E";
  EXPECT_ERROR(read_onnx(folder.write("m.onnx", groups)), kInvalid, "m.onnx");
}

/// A model with one external weight of 2000 bytes, whose entries may be anything.
struct External {
  TempFolder folder;
  ExternalData data{"m.onnx.data", {{"w", {0, 2000}}}};
  Graph graph;

  External() {
    graph.initializers = {made_up("w", ElementType::u8, {2000})};
    folder.write("m.onnx.data", std::string(4000, 'd'));
  }

  OnnxFile read() const {
    AtomicFile file(folder / "m.onnx");
    write_onnx(graph, data, file);
    file.commit();
    return read_onnx(folder / "m.onnx");
  }

  /// With a part of the model's bytes replaced by another of the same length.
  OnnxFile read_changed(const std::string& from, const std::string& to) const {
    read();
    std::string bytes = read_text(folder / "m.onnx");
    bytes.replace(bytes.find(from), from.size(), to);
    return read_onnx(folder.write("m.onnx", bytes));
  }
};

TEST(OnnxExternalData, OnlyAFileOfTheSameFolder) {
  External e;
  EXPECT_NO_THROW(e.read());
  std::filesystem::create_directory(e.folder / "sub");
  e.folder.write("sub/m.onnx.data", std::string(4000, 'd'));
  for (const std::string location :
       {"../m.onnx.data", "sub/m.onnx.data", "./m.onnx.data", "/etc/passwd", "", ".", "..", "sub/", "/"}) {
    e.data.location = location;
    EXPECT_ERROR(e.read(), kInvalid, "m.onnx", "same folder");
  }
  e.data.location = (e.folder / "m.onnx.data").string();
  EXPECT_ERROR(e.read(), kInvalid, "same folder");
  e.data.location = "sub";  // a folder
  EXPECT_ERROR(e.read(), kInvalid, "sub");
  e.data.location = "other.data";
  EXPECT_ERROR(e.read(), ErrorCode::model_not_found, "other.data", "not there");
}

TEST(OnnxExternalData, RegionsLieWithinTheFile) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  External e;
  e.data.regions["w"] = {2000, 2000};
  EXPECT_NO_THROW(e.read());
  for (const auto& [offset, length] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {2001, 2000},
           {4000, 2000},
           {4001, 2000},
           {kMost, 2000},
           {kMost - 1999, 2000},
           {0, 4001},
           {0, kMost},
           {1, kMost},
           {kMost, kMost},
           {std::uint64_t{1} << 63U, std::uint64_t{1} << 63U}}) {
    e.data.regions["w"] = {offset, length};
    EXPECT_ERROR(e.read(), kInvalid, "weight w", "m.onnx.data", "4000");
  }
  for (const std::uint64_t length : {0, 1999, 2001}) {  // not what the shape needs
    e.data.regions["w"] = {0, length};
    EXPECT_ERROR(e.read(), kInvalid, "weight w", "[2000]");
  }
}

TEST(OnnxExternalData, OffsetAndLengthAreNumbers) {
  External e;
  e.data.regions["w"] = {1234, 2000};
  for (const char* offset : {"-123", "+123", " 123", "123 ", "1e03", "0x12", "12.5", "abcd"})
    EXPECT_ERROR(e.read_changed("1234", offset), kInvalid, "weight w begins at byte", offset);
  for (const char* length : {"-200", "2e03", "200 "})
    EXPECT_ERROR(e.read_changed("2000", length), kInvalid, "weight w needs", length);
  e.data.regions["w"] = {10000000000000000000U, 2000};
  EXPECT_ERROR(e.read_changed("10000000000000000000", "99999999999999999999"), kInvalid, "weight w");
}

TEST(OnnxExternalData, OffsetAndLengthMayBeLeftOut) {
  External e;
  e.folder.write("m.onnx.data", std::string(2000, 'd'));
  EXPECT_EQ(e.read_changed("offset", "ignore").graph.initializers[0].data[1999], std::byte{'d'});
  EXPECT_NO_THROW(e.read_changed("length", "ignore"));
}

TEST(OnnxFileDamaged, ShapesThatAreNone) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40U;
  const TempFolder folder;
  for (const Shape& shape : {Shape{-1}, Shape{-1, -1}, Shape{-2, -2}, Shape{kHuge, kHuge},
                             Shape{kHuge, kHuge, 0}, Shape{0, kHuge, kHuge, kHuge}, Shape{-1, 0},
                             Shape{0, -5}, Shape{std::numeric_limits<std::int64_t>::min()}}) {
    Graph graph;
    graph.initializers = {made_up("w", ElementType::u8, {1})};
    graph.initializers[0].shape = {1, 1, 1, 1};
    write_inside(graph, folder / "m.onnx");
    // dims are single bytes of the value 1 here; a file of the wanted ones is written field by field
    std::string tensor;
    for (const std::int64_t dim : shape) {
      tensor += '\x08';
      for (auto rest = static_cast<std::uint64_t>(dim);; rest >>= 7U) {
        tensor += static_cast<char>((rest & 127U) | (rest > 127 ? 128U : 0U));
        if (rest <= 127) break;
      }
    }
    tensor += std::string("\x10\x02\x42\x01w\x4A\x01z", 8);  // uint8, name w, one byte
    const std::string in_graph = "\x2A" + std::string(1, static_cast<char>(tensor.size())) + tensor;
    const std::string model = "\x08\x08\x3A" + std::string(1, static_cast<char>(in_graph.size())) + in_graph;
    EXPECT_ERROR(read_onnx(folder.write("m.onnx", model)), kInvalid, "weight w of shape");
  }
}

TEST(RequireOurs, SaysWhoWroteAForeignFile) {
  const TempFolder folder;
  Graph graph = graph_of_every_kind();
  graph.producer_name = "pytorch";
  graph.producer_version = "2.14.1";
  write_inside(graph, folder / "m.onnx");
  EXPECT_ERROR(require_ours(read_onnx(folder / "m.onnx")), ErrorCode::model_unsupported, "m.onnx",
               "written by pytorch 2.14.1", "config.json");
  graph.metadata.emplace_back(kFormatKey, "2");
  write_inside(graph, folder / "m.onnx");
  EXPECT_ERROR(require_ours(read_onnx(folder / "m.onnx")), ErrorCode::model_unsupported, "another version",
               "format 2, expected 1");
  graph.metadata.back().second = kFormat;
  write_inside(graph, folder / "m.onnx");
  EXPECT_NO_THROW(require_ours(read_onnx(folder / "m.onnx")));
}

}  // namespace
}  // namespace vit::exporter
