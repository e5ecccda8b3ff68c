// What `vitrine export` and -m model.onnx refuse: the message, the exit code, and that nothing is left or
// lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "export/onnx_file.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/editable_model.hpp"

namespace vit::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kBase = EditableModel::folder_of("hf_vit_base").string();

std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    files[entry.path().string()] = entry.is_regular_file() ? read_text(entry.path()) : "";
  return files;
}

/// Ends with this code and a message of these parts; nothing on stdout, and the folder is as it was.
void expect_refused(const TempFolder& folder, const std::vector<std::string>& arguments, int code,
                    const std::vector<std::string>& parts, const std::string& setup = "true") {
  std::vector<std::string> all{"export"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const auto before = contents(folder.path());
  const CommandResult result = vitrine_behind(setup, all);
  EXPECT_EQ(result.exit_code, code) << ::testing::PrintToString(arguments) << result.err;
  EXPECT_EQ(result.out, "");
  for (const std::string& part : parts) EXPECT_THAT(result.err, HasSubstr(part));
  EXPECT_EQ(contents(folder.path()), before) << ::testing::PrintToString(arguments);
}

TEST(ExportRefuses, OptionsThatCannotBe) {
  const TempFolder folder;
  const std::string seven = folder.write("7", "a\nb\nc\nd\ne\nf\ng\n");
  const std::string two = folder.write("2", "a\nb\n");
  const std::string latin = folder.write("latin", "a\nb\nc\nd\ne\nf\nM\xFCsli\n");
  const auto refused = [&](std::vector<std::string> options, const std::vector<std::string>& parts) {
    options.insert(options.end(), {"-m", kBase, "-o", folder / "m.onnx"});
    expect_refused(folder, options, 2, parts);
  };
  for (const char* opset : {"18", "12", "0", "-1", "seventeen"}) refused({"--opset", opset}, {"opset"});
  refused({"--image-size", "30"}, {"--image-size", "30x30", "8x8"});
  refused({"--image-size", "32x30"}, {"32x30", "8x8"});
  for (const char* size : {"", "x", "32x", "x32", "32x32x3", "-8", "0", "8.0", "abc", "99999999999999999999"})
    refused({"--image-size", size}, {"--image-size"});
  for (const char* size : {"4611686018427387904", "1000000000000", "800000000"})
    refused({"--image-size", size}, {size});
  for (const char* batch : {"0", "-1", "x", "1.5", "65537", "", "99999999999999999999"})
    refused({"--batch", batch}, {"batch"});
  refused({"--weights", "bf16"}, {"--weights"});
  refused({"--input", "int8"}, {"--input"});
  refused({"--outputs", "logits,embeddings"}, {"--outputs"});
  refused({"--external-data", "sometimes"}, {"--external-data"});
  refused({"--labels", two}, {"2 labels", "7 classes", two});
  refused({"--labels", folder / "none"}, {"none"});
  refused({"--labels", latin}, {"line 7", "UTF-8"});
  refused({"--meta", "novalue"}, {"--meta", "KEY=VALUE"});
  refused({"--meta", "=value"}, {"KEY=VALUE"});
  refused({"--meta", "names=mine"}, {"names", "taken"});
  refused({"--meta", "vit.new=mine"}, {"vit.new", "taken"});
  refused({"--meta", "a=1", "--meta", "a=2"}, {"a", "taken"});
  refused({"--meta", "author=M\xFCller"}, {"--meta", "UTF-8"});
  refused({"--threads", "0"}, {"--threads"});
  expect_refused(folder, {"-m", kBase}, 2, {"--output"});
  expect_refused(folder, {"-m", kBase, "-o", ""}, 4, {"cannot be written"});
}

TEST(ExportRefuses, ModelsThatCannotBe) {
  const TempFolder folder;
  const TempFolder model;
  EditableModel nan("hf_vit_base");
  std::string& bytes = nan.tensors.at("vit.encoder.layer.1.intermediate.dense.weight").bytes;
  const float value = std::nanf("");
  std::memcpy(bytes.data() + 400, &value, sizeof value);
  nan.write(model);
  const std::vector<std::string> arguments{"-m", model.path().string(), "-o", folder / "m.onnx"};
  expect_refused(folder, arguments, 3, {"blocks.1.mlp.fc1.weight", "nan"});
  expect_refused(folder, {"-m", folder / "none", "-o", folder / "m.onnx"}, 3, {"none"});
  EditableModel large("hf_vit_base");
  const float beyond = 1e5F;
  std::memcpy(large.tensors.at("classifier.weight").bytes.data(), &beyond, sizeof beyond);
  large.write(model);
  expect_refused(folder, {"-m", model.path().string(), "-o", folder / "m.onnx", "--weights", "fp16"}, 3,
                 {"head.weight", "100000", "fp32"});
  EditableModel endless("hf_vit_base");  // finite weights whose products are not
  for (const char* name : {"vit.layernorm.weight", "classifier.weight"}) {
    std::string& all = endless.tensors.at(name).bytes;
    const float huge = 1e38F;
    for (std::size_t i = 0; i < all.size(); i += sizeof huge) std::memcpy(all.data() + i, &huge, sizeof huge);
  }
  endless.write(model);
  for (const char* external : {"never", "always"}) {
    expect_refused(folder,
                   {"-m", model.path().string(), "-o", folder / "m.onnx", "--external-data", external}, 5,
                   {"NaN or infinity"});
  }
}

TEST(ExportRefuses, TargetsThatCannotBeWritten) {
  const TempFolder folder;
  folder.write("there.onnx", "precious");
  folder.write("data.onnx.data", "precious");
  fs::create_symlink(folder / "there.onnx", folder / "link.onnx");
  const auto refused = [&](const std::string& to, std::vector<std::string> parts,
                           std::vector<std::string> more = {}) {
    more.insert(more.end(), {"-m", kBase, "-o", to});
    expect_refused(folder, more, 4, parts);
  };
  refused(folder / "there.onnx", {"there.onnx", "exists already", "--force"});
  refused(folder / "data.onnx", {"data.onnx.data", "exists already"}, {"--external-data", "always"});
  refused(folder / "link.onnx", {"link.onnx", "it is a link to"});
  refused(folder / "link.onnx", {"link.onnx", "it is a link to"}, {"--force"});
  refused(folder.path().string(), {"it is a folder"}, {"--force"});
  refused(folder / "no/such/m.onnx", {"no/such/m.onnx", "No such file"});
  refused("/dev/full", {"not a regular file"}, {"--force"});
  refused("/proc/m.onnx", {"/proc/m.onnx"});
  folder.write("labels.txt", "precious");
  refused(folder / "m.onnx", {"labels.txt", "exists already"}, {"--side-files"});
  if (::geteuid() == 0) return;  // who may write anywhere
  fs::create_directory(folder / "closed");
  fs::permissions(folder / "closed", fs::perms::owner_read | fs::perms::owner_exec);
  refused(folder / "closed/m.onnx", {"closed/m.onnx", "denied"});
  fs::permissions(folder / "closed", fs::perms::owner_all);
}

TEST(ExportRefuses, ADiskThatFillsUp) {
  const TempFolder folder;
  // A limit on the size of files stands in for it: writing fails midway, as with a full disk.
  const std::string limit = "trap '' XFSZ && ulimit -f 64";
  for (const char* external : {"never", "always"}) {
    expect_refused(folder, {"-m", kBase, "-o", folder / "m.onnx", "--external-data", external}, 4,
                   {"m.onnx", "too large"}, limit);
  }
  ASSERT_EQ(vitrine({"export", "-m", kBase, "-o", folder / "m.onnx", "--external-data", "always"}).exit_code,
            0);
  expect_refused(
      folder,
      {"-m", kBase, "-o", folder / "m.onnx", "--weights", "fp16", "--external-data", "always", "--force"}, 4,
      {"m.onnx"}, "trap '' XFSZ && ulimit -f 16");
}

TEST(ExportRefuses, ToDestroyWhatItReads) {
  const TempFolder folder;
  const TempFolder model;
  EditableModel("hf_dinov2_larger").write(model);
  const std::string source = model.path().string();
  const std::string labels = folder.write("labels.txt", "a\nb\nc\nd\ne\nf\n");
  expect_refused(model, {"-m", source, "-o", model / "model.safetensors", "--force"}, 2,
                 {"model.safetensors", "read"});
  expect_refused(model, {"-m", source, "-o", model / "config.json", "--force"}, 2, {"config.json", "read"});
  expect_refused(model, {"-m", source, "-o", model / "m.onnx", "--side-files", "--force"}, 2,
                 {"config.json", "read"});
  expect_refused(model,
                 {"-m", model / "model.safetensors", "-o", model / "m.onnx", "--side-files", "--force"}, 2,
                 {"config.json", "read"});
  expect_refused(folder, {"-m", source, "-o", labels, "--labels", labels, "--force"}, 2,
                 {"labels.txt", "read"});
  expect_refused(folder,
                 {"-m", source, "-o", folder / "m.onnx", "--labels", labels, "--side-files", "--force"}, 2,
                 {"labels.txt", "read"});
  ASSERT_EQ(vitrine({"export", "-m", source, "-o", folder / "m.onnx", "--external-data"}).exit_code, 0);
  expect_refused(folder, {"-m", folder / "m.onnx", "-o", folder / "m.onnx", "--force"}, 2,
                 {"m.onnx", "read"});
  expect_refused(folder, {"-m", folder / "m.onnx", "-o", folder / "m.onnx.data", "--force"}, 2,
                 {"m.onnx.data", "read"});
}

TEST(ExportRefuses, CalibrationWithoutPictures) {
  const TempFolder folder;
  const TempFolder empty;
  for (const std::string& pictures : {empty.path().string(), std::string("/no/such/folder")}) {
    const CommandResult result =
        vitrine({"export", "-m", kBase, "-o", folder / "m.onnx", "--int8-qdq", pictures});
    EXPECT_THAT(result.exit_code, ::testing::AnyOf(1, 2)) << result.err;
    EXPECT_NE(result.err, "");
    EXPECT_TRUE(fs::is_empty(folder.path()));
  }
}

// ------------------------------------------------------------------------------------------------ -m
// model.onnx

void expect_not_loaded(const std::string& model, const std::vector<std::string>& parts) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"classify", kBase + "/image.png"},
        {"info"},
        {"export", "-o", "/nowhere/m.onnx"}}) {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"-m", model});
    const CommandResult result = vitrine(all);
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_EQ(result.out, "");
    for (const std::string& part : parts) EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;  // no library talks
  }
}

TEST(OnnxModel, AForeignOneIsRefusedByItsProducersName) {
  const TempFolder folder;
  exporter::Graph graph;
  graph.name = "main_graph";
  graph.opset = 18;
  graph.producer_name = "pytorch";
  graph.producer_version = "2.14.1";
  graph.nodes = {{"n", "Relu", {"x"}, {"y"}, {}}};
  graph.inputs = {{"x", exporter::ElementType::f32, {"batch"}}};
  graph.outputs = {{"y", exporter::ElementType::f32, {"batch"}}};
  AtomicFile file(folder / "m.onnx");
  exporter::write_onnx(graph, file);
  file.commit();
  expect_not_loaded(folder / "m.onnx", {"m.onnx", "written by pytorch 2.14.1 (opset 18", "config.json"});
}

TEST(OnnxModel, DamagedOnes) {
  const TempFolder folder;
  expect_not_loaded(folder / "none.onnx", {"none.onnx"});
  expect_not_loaded(folder.write("m.onnx", ""), {"m.onnx", "empty"});
  expect_not_loaded(folder.write("m.onnx", "version https://git-lfs.github.com/spec/v1\n"), {"git lfs pull"});
  expect_not_loaded(folder.write("m.onnx", "<html>"), {"web page"});
  ASSERT_EQ(vitrine({"export", "-m", kBase, "-o", folder / "a.onnx", "--external-data"}).exit_code, 0);
  const std::string bytes = read_text(folder / "a.onnx");
  for (const std::size_t left : {bytes.size() - 1, bytes.size() / 2, std::size_t{10}})
    expect_not_loaded(folder.write("a.onnx", bytes.substr(0, left)), {"a.onnx"});
  folder.write("a.onnx", bytes);
  fs::resize_file(folder / "a.onnx.data", fs::file_size(folder / "a.onnx.data") - 1);
  expect_not_loaded(folder / "a.onnx", {"a.onnx.data", "weight"});
  fs::remove(folder / "a.onnx.data");
  expect_not_loaded(folder / "a.onnx", {"a.onnx.data", "not there"});
}

}  // namespace
}  // namespace vit::test
