// Files that appear together or not at all.
#include "export/onnx_target.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "tests/export/graph_files.hpp"
#include "tests/support/expect_error.hpp"

namespace vit::exporter {
namespace {

namespace fs = std::filesystem;
using test::expect_same;
using test::made_up;
using test::read_text;
using test::TempFolder;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kUnwritable = ErrorCode::output_unwritable;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// A model of one weight that goes into a data file.
Graph model(const std::string& weight) {
  Graph graph;
  graph.name = "g";
  graph.initializers = {made_up(weight, ElementType::u8, {5000})};
  return graph;
}

fs::path write(const fs::path& path, const Graph& graph, bool external, bool overwrite = true) {
  OnnxTarget target(path, overwrite);
  target.write(graph, external);
  expect_same(target.read_back().graph, graph);
  target.commit();
  expect_same(read_onnx(path).graph, graph);
  return target.data().value_or("");
}

TEST(OnnxTarget, NothingIsThereBeforeCommit) {
  const TempFolder folder;
  for (const bool external : {false, true}) {
    OnnxTarget target(folder / "m.onnx", false);
    target.write(model("a"), external);
    EXPECT_FALSE(fs::exists(folder / "m.onnx"));
    EXPECT_FALSE(fs::exists(folder / "m.onnx.data"));
  }
  EXPECT_THAT(names_in(folder.path()), IsEmpty());  // nothing is left of those that were given up
}

TEST(OnnxTarget, OneFileOrTwo) {
  const TempFolder folder;
  EXPECT_EQ(write(folder / "m.onnx", model("a"), false, false), "");
  EXPECT_EQ(write(folder / "n.onnx", model("a"), true, false), folder / "n.onnx.data");
  EXPECT_THAT(names_in(folder.path()), ElementsAre("m.onnx", "n.onnx", "n.onnx.data"));
}

TEST(OnnxTarget, ANameWithoutAFolder) {
  const TempFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  EXPECT_EQ(write("m.onnx", model("a"), true, false), fs::path("m.onnx.data"));
  fs::current_path(before);
  EXPECT_THAT(names_in(folder.path()), ElementsAre("m.onnx", "m.onnx.data"));
}

TEST(OnnxTarget, RefusesWhatIsThere) {
  const TempFolder folder;
  folder.write("m.onnx", "precious");
  EXPECT_ERROR(OnnxTarget(folder / "m.onnx", false), kUnwritable, "m.onnx", "exists already", "--force");
  EXPECT_ERROR(OnnxTarget(folder.path(), true), kUnwritable, "it is a folder");
  EXPECT_ERROR(OnnxTarget(folder / "no/such/m.onnx", true), kUnwritable, "no/such/m.onnx", "No such file");
  EXPECT_ERROR(OnnxTarget(folder / "m.onnx/n.onnx", true), kUnwritable, "m.onnx/n.onnx");
  EXPECT_ERROR(OnnxTarget("/dev/null", true), kUnwritable, "not a regular file");
  EXPECT_ERROR(OnnxTarget("", true), kUnwritable, "cannot be written");
  fs::create_symlink(folder / "m.onnx", folder / "link.onnx");
  fs::create_symlink(folder / "nothing", folder / "dangling.onnx");
  for (const char* link : {"link.onnx", "dangling.onnx"}) {
    for (const bool overwrite : {false, true})
      EXPECT_ERROR(OnnxTarget(folder / link, overwrite), kUnwritable, link, "it is a link to");
  }
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_ERROR(OnnxTarget(folder / "fifo", true), kUnwritable, "not a regular file");
  EXPECT_EQ(read_text(folder / "m.onnx"), "precious");
  EXPECT_EQ(names_in(folder.path()).size(), 4U);
}

TEST(OnnxTarget, RefusesAForeignDataFile) {
  const TempFolder folder;
  folder.write("m.onnx.data", "weights of another model");
  {
    OnnxTarget target(folder / "m.onnx", false);
    EXPECT_ERROR(target.write(model("a"), true), kUnwritable, "m.onnx.data", "exists already");
  }
  EXPECT_THAT(names_in(folder.path()), ElementsAre("m.onnx.data"));
  write(folder / "m.onnx", model("a"), false, false);  // with the weights inside it does not matter
  EXPECT_EQ(read_text(folder / "m.onnx.data"), "weights of another model");
  write(folder / "m.onnx", model("a"), true);
  EXPECT_THAT(names_in(folder.path()), ElementsAre("m.onnx", "m.onnx.data"));
}

TEST(OnnxTarget, NeverWritesThroughALinkOfTheDataFile) {
  const TempFolder folder;
  folder.write("precious", "precious");
  fs::create_symlink(folder / "precious", folder / "m.onnx.data");
  try {
    write(folder / "m.onnx", model("a"), true);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), kUnwritable);
  }
  EXPECT_EQ(read_text(folder / "precious"), "precious");
}

TEST(OnnxTarget, OverwritingKeepsTheOldModelWholeUntilTheEnd) {
  const TempFolder folder;
  write(folder / "m.onnx", model("old"), true);
  OnnxTarget target(folder / "m.onnx", true);
  target.write(model("new"), true);
  expect_same(read_onnx(folder / "m.onnx").graph, model("old"));
  ASSERT_TRUE(target.data());
  EXPECT_NE(*target.data(), folder / "m.onnx.data");  // whose content the old model needs
  target.commit();
  expect_same(read_onnx(folder / "m.onnx").graph, model("new"));
  EXPECT_THAT(names_in(folder.path()), ElementsAre("m.onnx", target.data()->filename().string()));
}

TEST(OnnxTarget, OverwritingInAllCombinations) {
  const TempFolder folder;
  write(folder / "m.onnx", model("a"), true);
  write(folder / "m.onnx", model("b"), true);
  EXPECT_EQ(write(folder / "m.onnx", model("c"), true), folder / "m.onnx.data");  // free again
  EXPECT_EQ(write(folder / "m.onnx", model("c"), true), folder / "m.onnx.data");  // the same bytes
  EXPECT_THAT(names_in(folder.path()), ElementsAre("m.onnx", "m.onnx.data"));
  write(folder / "m.onnx", model("c"), false);
  EXPECT_THAT(names_in(folder.path()), ElementsAre("m.onnx"));
  write(folder / "m.onnx", model("d"), true);
  EXPECT_THAT(names_in(folder.path()), ElementsAre("m.onnx", "m.onnx.data"));
}

TEST(OnnxTarget, OverwritingWhatIsNoModel) {
  const TempFolder folder;
  folder.write("m.onnx", "damaged");
  folder.write("m.onnx.data", "left over");
  write(folder / "m.onnx", model("a"), true);
  EXPECT_THAT(names_in(folder.path()), ElementsAre("m.onnx", "m.onnx.data"));
}

TEST(OnnxTarget, OverwritingAModelWhoseDataFileHasAnotherName) {
  const TempFolder folder;
  const Graph old = model("shared");
  {
    AtomicFile data(folder / "weights.bin");
    const ExternalData layout = write_external_data(old, data, "weights.bin");
    data.commit();
    for (const char* name : {"m.onnx", "n.onnx"}) {  // two models of the same weights
      AtomicFile file(folder / name);
      write_onnx(old, layout, file);
      file.commit();
    }
  }
  write(folder / "m.onnx", model("new"), true);
  expect_same(read_onnx(folder / "n.onnx").graph, old);  // its weights are not ours to remove
}

TEST(OnnxTarget, KeepsPermissionsOfWhatItReplaces) {
  const TempFolder folder;
  write(folder / "m.onnx", model("a"), false);
  fs::permissions(folder / "m.onnx", fs::perms::owner_read | fs::perms::owner_write);
  write(folder / "m.onnx", model("b"), false);
  EXPECT_EQ(fs::status(folder / "m.onnx").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(OnnxTarget, AFolderThatMustNotBeWrittenTo) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  const TempFolder folder;
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_ERROR(OnnxTarget(folder / "m.onnx", false), kUnwritable, "m.onnx", "denied");
  fs::permissions(folder.path(), fs::perms::owner_all);
}

TEST(OnnxTarget, LooksForSpace) {
  const TempFolder folder;
  const OnnxTarget target(folder / "m.onnx", false);
  EXPECT_NO_THROW(target.require_space(1));
  EXPECT_ERROR(target.require_space(std::int64_t{1} << 62U), kUnwritable, "m.onnx", "MB are free");
}

}  // namespace
}  // namespace vit::exporter
