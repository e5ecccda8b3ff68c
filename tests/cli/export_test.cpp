// `vitrine export`, and the way back: what a user gets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "export/onnx_file.hpp"
#include "io/safetensors.hpp"
#include "io/safetensors_writer.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/editable_model.hpp"
#include "tests/support/random.hpp"

namespace vit::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kBase = EditableModel::folder_of("hf_vit_base").string();
const std::string kDinov2 = EditableModel::folder_of("hf_dinov2_larger").string();

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

CommandResult export_model(const std::string& model, const std::string& to,
                           std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"export", "-m", model, "-o", to});
  CommandResult result = vitrine(more);
  EXPECT_EQ(result.exit_code, 0) << ::testing::PrintToString(more) << result.err;
  return result;
}

/// All tensors of `run` for random pixels of this size.
std::string answers(const TempFolder& folder, const std::string& model, Size2 image,
                    const std::string& outputs = "logits") {
  const Tensor pixels = normal_tensor({2, 3, image.height, image.width}, 5);
  io::write_safetensors(folder / "in.safetensors", {{"pixel_values", pixels.view()}});
  const CommandResult run = vitrine({"run", "-m", model, "--input", folder / "in.safetensors", "-o",
                                     folder / "out.safetensors", "--outputs", outputs});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return read_text(folder / "out.safetensors");
}

TEST(Export, TheShippedModelSaysWhatItProved) {
  const TempFolder folder;
  const CommandResult result = vitrine({"export", "-o", folder / "m.onnx"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  for (const char* part : {"m.onnx: 2.8 MB, opset 17, IR 8", "input pixel_values float32 [batch, 3, 28, 28]",
                           "output logits float32 [batch, 10]", "checked: structure", "batch 1: max",
                           "batch 3: max", "same top-1 3 of 3"})
    EXPECT_THAT(result.out, HasSubstr(part));
  EXPECT_THAT(names_in(folder.path()), ElementsAre("m.onnx"));
}

TEST(Export, ReportsAsJson) {
  const TempFolder folder;
  const json report = json::parse(
      export_model(kBase, folder / "m.onnx", {"--format", "json", "--weights", "fp16", "--external-data"})
          .out);
  EXPECT_EQ(report.at("model"), (folder / "m.onnx").string());
  EXPECT_EQ(report.at("data"), (folder / "m.onnx.data").string());
  EXPECT_EQ(report.at("model_bytes"), fs::file_size(folder / "m.onnx"));
  EXPECT_EQ(report.at("data_bytes"), fs::file_size(folder / "m.onnx.data"));
  EXPECT_EQ(report.at("differences").size(), 2U);
  EXPECT_EQ(report.at("rounding").at(1).at("batch"), 3);
  EXPECT_LT(report.at("rounding").at(1).at("max_abs_difference").get<double>(), 0.05);
}

TEST(Export, TheSameBytesFromAnyFolderUnderAnyName) {
  const TempFolder folder;
  const TempFolder other;
  EditableModel(std::string("hf_vit_base")).write(other);
  fs::create_directory(folder / "deep, er");
  export_model(kBase, folder / "a.onnx", {"--external-data", "never"});
  export_model(other.path().string(), folder / "deep, er/b.onnx", {"--threads", "1"});
  fs::copy(kBase, folder / "mo, del", fs::copy_options::recursive);
  export_model(folder / "mo, del", folder / "c.onnx");
  EXPECT_EQ(read_text(folder / "c.onnx"), read_text(folder / "a.onnx"));
  export_model(folder / "mo, del/model.safetensors", folder / "c.onnx", {"--force"});
  EXPECT_EQ(read_text(folder / "c.onnx"), read_text(folder / "a.onnx"));
  const CommandResult relative =
      vitrine_behind("cd '" + other.path().string() + "'", {"export", "-m", ".", "-o", "c.onnx"});
  ASSERT_EQ(relative.exit_code, 0) << relative.err;
  const std::string bytes = read_text(folder / "a.onnx");
  EXPECT_EQ(read_text(folder / "deep, er/b.onnx"), bytes);
  EXPECT_EQ(read_text(other / "c.onnx"), bytes);
  for (const std::string& path : {folder.path().string(), other.path().string(), kBase})
    EXPECT_THAT(bytes, Not(HasSubstr(path)));
  // A copy of a copy is the same, whatever the copies are called.
  export_model(folder / "deep, er/b.onnx", folder / "d, e.onnx");
  EXPECT_EQ(read_text(folder / "d, e.onnx"), bytes);
  export_model(folder / "d, e.onnx", folder / "f.onnx");
  EXPECT_EQ(read_text(folder / "f.onnx"), bytes);
}

TEST(Export, TheWayBackGivesTheSameAnswersToTheLastBit) {
  const TempFolder folder;
  for (const char* name :
       {"hf_vit_base", "hf_vit_bf16", "hf_vit_fp16", "hf_vit_nonsquare_patch", "hf_vit_odd_dims",
        "hf_vit_sharded", "hf_dinov2_larger", "hf_vit_model_pooler_relu", "hf_dinov2_model"}) {
    SCOPED_TRACE(name);
    const std::string source = EditableModel::folder_of(name).string();
    const json config = json::parse(read_text(fs::path(source) / "config.json"));
    const std::int64_t side = config.at("image_size");
    const bool has_head =
        config.at("architectures").at(0).get<std::string>().ends_with("ForImageClassification");
    const std::string outputs = has_head ? "logits,features,last_hidden_state" : "features,last_hidden_state";
    const std::string want = answers(folder, source, {side, side}, outputs);
    for (const std::vector<std::string>& options :
         {std::vector<std::string>{}, {"--opset", "23", "--external-data", "--batch", "2"}}) {
      std::vector<std::string> all = options;
      all.insert(all.end(), {"--force", "-q"});
      export_model(source, folder / "m.onnx", all);
      EXPECT_EQ(answers(folder, folder / "m.onnx", {side, side}, outputs), want);
    }
  }
}

TEST(Export, AnotherImageSizeComesBackToo) {
  const TempFolder folder;
  for (const std::string& source : {kBase, kDinov2}) {
    for (const auto& [text, image] :
         std::vector<std::pair<std::string, Size2>>{{"56", {56, 56}}, {"56x112", {56, 112}}}) {
      export_model(source, folder / "m.onnx", {"--image-size", text, "--force"});
      EXPECT_EQ(answers(folder, folder / "m.onnx", image), answers(folder, source, image)) << text;
      const json info = json::parse(vitrine({"info", "-m", folder / "m.onnx", "--format", "json"}).out);
      EXPECT_EQ(info.at("config").at("image_size"), json::array({image.height, image.width}));
    }
  }
}

TEST(Export, AFileAloneClassifiesAsItsSource) {
  const TempFolder folder;
  const std::string picture = kDinov2 + "/image.png";
  for (const std::vector<std::string>& options : {std::vector<std::string>{},
                                                  {"--input", "uint8", "--outputs", "probabilities"},
                                                  {"--external-data"}}) {
    std::vector<std::string> all = options;
    all.push_back("--force");
    export_model(kDinov2, folder / "m.onnx", all);
    const CommandResult got = vitrine({"classify", "-m", folder / "m.onnx", picture, "--format", "jsonl"});
    EXPECT_EQ(got.exit_code, 0) << got.err;
    EXPECT_EQ(got.out, vitrine({"classify", "-m", kDinov2, picture, "--format", "jsonl"}).out);
  }
  for (const char* model : {"m.onnx", ""}) {
    const std::string name = *model == '\0' ? kDinov2 : std::string(folder / model);
    EXPECT_EQ(
        vitrine({"preprocess", "-m", name, picture, "-o", folder / (std::string("p") + model)}).exit_code, 0);
  }
  EXPECT_EQ(read_text(folder / "pm.onnx"), read_text(folder / "p"));
  const CommandResult text = vitrine({"info", "-m", folder / "m.onnx"});
  EXPECT_THAT(text.out, HasSubstr("Dinov2ForImageClassification"));
  EXPECT_THAT(text.out, HasSubstr("an ONNX model written by vitrine"));
#ifdef NDEBUG
  EXPECT_EQ(vitrine({"bench", "-m", folder / "m.onnx", "--iterations", "2", "--threads", "1"}).exit_code, 0);
#endif
}

TEST(Export, RoundedFilesComeBack) {
  const TempFolder folder;
  for (const char* weights : {"fp16", "int8"}) {
    export_model(kBase, folder / "m.onnx", {"--weights", weights, "--force", "-q"});
    const json info = json::parse(vitrine({"info", "-m", folder / "m.onnx", "--format", "json"}).out);
    EXPECT_THAT(info.dump(), HasSubstr(weights));
    EXPECT_EQ(vitrine({"classify", "-m", folder / "m.onnx", kBase + "/image.png"}).exit_code, 0);
  }
  for (const std::string& model : {kBase, EditableModel::folder_of("hf_dinov2_swiglu").string()}) {
    const CommandResult qdq =
        export_model(model, folder / "m.onnx", {"--int8-qdq", model, "--force", "--batch", "2"});
    EXPECT_THAT(qdq.err, HasSubstr("calibrated on 1 pictures"));
    EXPECT_EQ(vitrine({"classify", "-m", folder / "m.onnx", kBase + "/image.png"}).exit_code, 0);
  }
}

TEST(Export, FilesWithoutAHeadSayThatTheyHaveNone) {
  const TempFolder folder;
  for (const char* weights : {"fp32", "fp16"}) {
    for (const auto& [outputs, whole] : std::vector<std::pair<const char*, bool>>{{"features", true},
                                                                                  {"last_hidden_state", true},
                                                                                  {"hidden_states", false},
                                                                                  {"attentions", false}}) {
      export_model(kBase, folder / "m.onnx", {"--outputs", outputs, "--weights", weights, "--force"});
      const CommandResult info = vitrine({"info", "-m", folder / "m.onnx"});
      EXPECT_EQ(info.exit_code, whole ? 0 : 3) << outputs << info.err;
      const CommandResult classify = vitrine({"classify", "-m", folder / "m.onnx", kBase + "/image.png"});
      EXPECT_EQ(classify.exit_code, 3) << outputs;
      EXPECT_THAT(classify.err,
                  HasSubstr(whole ? "head" : "was exported for " + std::string(outputs) + " alone"));
    }
  }
}

TEST(Export, LabelsMetadataAndSideFiles) {
  const TempFolder folder;
  const std::string labels = folder.write("labels.in", "it's\nb\nc\nd\ne\nf\nГ\n");
  export_model(kBase, folder / "m.onnx",
               {"--labels", labels, "--meta", "author=me=you", "--meta", "empty=", "--side-files"});
  EXPECT_THAT(names_in(folder.path()),
              ElementsAre("config.json", "labels.in", "labels.txt", "m.onnx", "preprocessor_config.json"));
  EXPECT_EQ(read_text(folder / "labels.txt"), read_text(labels));
  EXPECT_EQ(json::parse(read_text(folder / "config.json")).at("id2label").at("6"), "Г");
  EXPECT_EQ(json::parse(read_text(folder / "preprocessor_config.json")).at("image_processor_type"),
            "ViTImageProcessor");
  const exporter::Graph graph = exporter::read_onnx(folder / "m.onnx").graph;
  EXPECT_EQ(*graph.find_metadata("author"), "me=you");
  EXPECT_EQ(*graph.find_metadata("empty"), "");
  EXPECT_THAT(*graph.find_metadata("names"), HasSubstr("{0: 'it\\'s', 1: 'b'"));
  const CommandResult classify =
      vitrine({"classify", "-m", folder / "m.onnx", kBase + "/image.png", "-k", "7", "--format", "jsonl"});
  EXPECT_THAT(classify.out, HasSubstr("it's"));
}

TEST(Export, TheRecipeFollowsTheImageSize) {
  const TempFolder folder;
  export_model(kDinov2, folder / "m.onnx", {"--image-size", "56"});  // 32 -> 28 becomes 64 -> 56
  const json info = json::parse(vitrine({"info", "-m", folder / "m.onnx", "--format", "json"}).out);
  EXPECT_EQ(info.at("recipe").at("resize").at("shortest_edge"), 64) << info.at("recipe").dump();
  EXPECT_EQ(info.at("recipe").at("center_crop"), json::array({56, 56})) << info.at("recipe").dump();
}

TEST(Export, OverwritingWithForce) {
  const TempFolder folder;
  export_model(kBase, folder / "m.onnx", {"--external-data"});
  export_model(kDinov2, folder / "m.onnx", {"--external-data", "always", "--force"});
  EXPECT_EQ(answers(folder, folder / "m.onnx", {28, 28}), answers(folder, kDinov2, {28, 28}));
  EXPECT_EQ(names_in(folder.path()).size(), 4U);  // the model, its data, in and out
  export_model(kDinov2, folder / "m.onnx", {"--force"});
  EXPECT_THAT(names_in(folder.path()), ElementsAre("in.safetensors", "m.onnx", "out.safetensors"));
}

}  // namespace
}  // namespace vit::test
