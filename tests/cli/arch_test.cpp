// Weights without a config.json, and --arch, --image-size and --labels on every command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "io/safetensors.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/editable_model.hpp"

namespace vit::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Arguments = std::vector<std::string>;

const std::string kCat = VITRINE_DATA "/images/chelsea.png";
const std::string kGoogle = EditableModel::path_of("google_vit").string();
const std::string kDinov2 = EditableModel::path_of("dinov2_larger").string();
const std::string kTorchvision = EditableModel::path_of("tv_vit_eps6").string();
const std::string kBase = EditableModel::folder_of("hf_vit_base").string();

Arguments operator+(Arguments a, const Arguments& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Ends with `code`, nothing on stdout, and all of `parts` on stderr.
void expect_failure(int code, const Arguments& arguments, const std::vector<std::string>& parts) {
  SCOPED_TRACE(::testing::PrintToString(arguments));
  const CommandResult result = vitrine(arguments);
  EXPECT_EQ(result.exit_code, code) << result.out << result.err;
  EXPECT_THAT(result.out, IsEmpty());
  for (const std::string& part : parts) EXPECT_THAT(result.err, HasSubstr(part));
}

CommandResult succeed(const Arguments& arguments) {
  CommandResult result = vitrine(arguments);
  EXPECT_EQ(result.exit_code, 0) << ::testing::PrintToString(arguments) << result.err;
  return result;
}

/// Every command with what it needs besides the model's options.
std::vector<Arguments> commands(const TempFolder& folder) {
  return {{"classify", kCat},
          {"info"},
          {"preprocess", kCat, "-o", folder / "pixels.safetensors"},
          {"run", "--input", EditableModel::folder_of("hf_vit_base") / "expected.safetensors", "-o",
           folder / "out.safetensors"},
          {"export", "-o", folder / "model.onnx"},
          {"verify", kBase},
          {"bench", "--iterations", "1"}};
}

// ------------------------------------------------------------------------------------------------ --arch

TEST(Arch, DescribesANetworkWithoutWeights) {
  const json info = json::parse(succeed({"info", "--arch", "vit_base_patch16_224", "--format", "json"}).out);
  EXPECT_EQ(info.at("parameters"), 86567656);
  EXPECT_EQ(info.at("tensors").size(), 152U);
  EXPECT_EQ(info.at("tensors").at("pos_embed"), json({1, 197, 768}));
  EXPECT_EQ(info.at("tensors").at("blocks.11.attn.qkv.weight"), json({2304, 768}));
  EXPECT_EQ(info.at("config").at("num_heads"), 12);
  EXPECT_EQ(info.at("labels").at(281), "tabby, tabby cat");
  EXPECT_EQ(info.at("recipe").at("center_crop"), json({224, 224}));
  const std::string text = succeed({"info", "--arch", "dinov2_vits14_reg"}).out;
  EXPECT_THAT(text, HasSubstr("dinov2"));
  EXPECT_THAT(text, HasSubstr("384"));
}

TEST(Arch, UnknownNamesAreRefusedByEveryCommand) {
  const TempFolder folder;
  for (const Arguments& command : commands(folder)) {
    expect_failure(3, command + Arguments{"-m", kBase, "--arch", "vit_base_patch16_225"},
                   {"--arch vit_base_patch16_225", "vit_base_patch16_224"});
    expect_failure(3, command + Arguments{"-m", kBase, "--arch", "vit_base_patch16_224.nobody"},
                   {"nobody", "augreg_in21k"});
    expect_failure(2, command + Arguments{"-m", kBase, "--arch", ""}, {"--arch"});
  }
  expect_failure(3, {"info", "--arch", "resnet50"}, {"resnet50"});
  EXPECT_FALSE(std::filesystem::exists(folder / "model.onnx"));
  EXPECT_FALSE(std::filesystem::exists(folder / "pixels.safetensors"));
}

TEST(Arch, ThatTheWeightsAreNotOfIsRefused) {
  const TempFolder folder;
  for (const Arguments& command : commands(folder)) {
    if (command.front() == "preprocess") continue;  // a name has its recipe
    expect_failure(3, command + Arguments{"-m", kBase, "--arch", "vit_tiny_patch16_224"},
                   {"model.safetensors", "patch_embed.proj.weight"});
  }
  expect_failure(3, {"classify", kCat, "--arch", "vit_tiny_patch16_224"},
                 {"fashion-mnist-vit", "patch_embed"});
}

TEST(Arch, IsNothingForAnOnnxFile) {
  const TempFolder folder;
  const std::string file = folder / "model.onnx";
  succeed({"export", "-m", kBase, "-o", file, "--no-verify"});
  for (const char* command : {"classify", "info"}) {
    Arguments arguments{command, "-m", file, "--arch", "vit_tiny_patch16_224"};
    if (arguments.front() == "classify") arguments.push_back(kCat);
    expect_failure(2, arguments, {"--arch", "model.onnx"});
  }
}

TEST(Arch, GivesPicturesItsRecipe) {
  const TempFolder folder;
  const std::string pixels = folder / "pixels.safetensors";
  succeed({"preprocess", kCat, "-o", pixels, "--arch", "vit_b_16"});
  EXPECT_EQ(io::SafetensorsFile(pixels).read("pixel_values").shape(), (Shape{1, 3, 224, 224}));
  succeed({"preprocess", kCat, "-o", pixels, "--arch", "vit_b_16", "--image-size", "64x48"});
  EXPECT_EQ(io::SafetensorsFile(pixels).read("pixel_values").shape(), (Shape{1, 3, 64, 48}));
}

TEST(Arch, IsTimedWithRandomWeights) {
#ifndef NDEBUG
  GTEST_SKIP() << "a debug build refuses to";
#endif
  const json report =
      json::parse(succeed({"bench", "--arch", "vit_xsmall_patch16_clip_224", "--image-size", "32x48",
                           "--iterations", "1", "--threads", "1", "--format", "json"})
                      .out);
  EXPECT_EQ(report.at("image_size"), json({32, 48}));
  EXPECT_THAT(report.dump(), HasSubstr("random weights"));
}

// ------------------------------------------------------------------------------------------------ without
// config.json

TEST(Release, WithoutAConfigIsRecognised) {
  const json info = json::parse(succeed({"info", "-m", kGoogle, "--format", "json"}).out);
  EXPECT_EQ(info.at("family"), "google_vit");
  EXPECT_THAT(info.at("notes").dump(), HasSubstr("no config.json"));
  EXPECT_THAT(succeed({"info", "-m", kDinov2}).out, HasSubstr("shape of patch_embed.proj.weight"));
  EXPECT_THAT(succeed({"classify", "-m", kGoogle, kCat, "--format", "jsonl"}).out, HasSubstr("LABEL_"));
  expect_failure(3, {"classify", "-m", kDinov2, kCat}, {"no classification head"});
}

TEST(Release, ClassifiesAsItsAuthorsCode) {
  const std::filesystem::path folder = EditableModel::folder_of("tv_vit_eps6");
  const json expected = json::parse(read_text(folder / "expected_top.json"));
  const CommandResult result =
      succeed({"classify", "-m", kTorchvision, folder / "image.png", "--format", "jsonl", "-k", "7"});
  const json got = json::parse(result.out).at("predictions");
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].at("label"), expected[i].at("label"));
    EXPECT_NEAR(got[i].at("score").get<double>(), expected[i].at("score").get<double>(), 1e-5);
  }
}

TEST(Release, IsExportedAndVerified) {
  const TempFolder folder;
  for (const std::string& model :
       {kGoogle, kDinov2, kTorchvision, EditableModel::path_of("google_vit_pre_logits_larger").string(),
        EditableModel::path_of("tv_vit_representation").string(),
        EditableModel::path_of("dinov3_swiglu").string(),
        EditableModel::path_of("dinov2_swiglu_reg").string()}) {
    const std::string file = folder / "model.onnx";
    const std::string size = model.find("dinov2") != std::string::npos ? "84x56" : "32";
    succeed({"export", "-m", model, "-o", file, "--force", "--image-size", size});
    const CommandResult verified = succeed({"verify", file, "-m", model});
    EXPECT_THAT(verified.out, HasSubstr("last_hidden_state"));
    succeed({"verify", file, "-m", model, kCat});
  }
}

TEST(Release, RunsWithTheOutputsOfItsAuthorsCode) {
  const TempFolder folder;
  const std::string input = EditableModel::folder_of("dinov2_larger") / "expected.safetensors";
  const std::string output = folder / "out.safetensors";
  succeed({"run", "-m", kDinov2, "--input", input, "-o", output, "--outputs", "features"});
  const Tensor got = io::SafetensorsFile(output).read("features");
  const Tensor want = io::SafetensorsFile(input).read("pooler_output");
  ASSERT_EQ(got.shape(), want.shape());
  for (std::int64_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got.data()[i], want.data()[i], 1e-4);
}

// ------------------------------------------------------------------------------------------------
// --image-size

TEST(ImageSize, MisuseIsMisuseForEveryCommand) {
  const TempFolder folder;
  for (const Arguments& command : commands(folder)) {
    for (const char* size : {"0", "-5", "x", "32x", "x32", "32x32x32", "32.5", "99999999", "32 32"})
      expect_failure(2, command + Arguments{"-m", kBase, "--image-size", size}, {"--image-size", size});
    expect_failure(2, command + Arguments{"-m", kBase, "--image-size", ""}, {"--image-size"});
  }
}

TEST(ImageSize, SmallerThanAPatchIsMisuse) {
  const TempFolder folder;
  for (const Arguments& command : commands(folder)) {
    if (command.front() == "preprocess") continue;  // does not look at the network
    expect_failure(2, command + Arguments{"-m", kBase, "--image-size", "7x32"}, {"7x32", "8x8"});
  }
}

TEST(ImageSize, IsWhatPicturesGet) {
  const TempFolder folder;
  const std::string pixels = folder / "pixels.safetensors";
  succeed({"preprocess", kCat, "-m", kBase, "-o", pixels, "--image-size", "48x64"});
  EXPECT_EQ(io::SafetensorsFile(pixels).read("pixel_values").shape(), (Shape{1, 3, 48, 64}));
  const std::string output = folder / "out.safetensors";
  succeed({"run", "-m", kBase, "--input", pixels, "-o", output});
  expect_failure(1, {"run", "-m", kBase, "--input", pixels, "-o", output, "--image-size", "32"},
                 {"pixel_values", "32x32", "--image-size"});
  EXPECT_NE(succeed({"classify", "-m", kBase, kCat, "--format", "csv"}).out,
            succeed({"classify", "-m", kBase, kCat, "--format", "csv", "--image-size", "48x64"}).out);
  EXPECT_THAT(succeed({"info", "-m", kBase, "--image-size", "48x64"}).out, HasSubstr("48x64"));
  const json info =
      json::parse(succeed({"info", "--arch", "vit_b_16", "--image-size", "384", "--format", "json"}).out);
  EXPECT_EQ(info.at("recipe").at("center_crop"), json({384, 384}));
}

// ------------------------------------------------------------------------------------------------ --labels

TEST(Labels, AreThoseOfTheFile) {
  const TempFolder folder;
  const std::string file = folder.write("labels.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n").string();
  const CommandResult result = succeed({"classify", "-m", kGoogle, kCat, "--labels", file, "-k", "7"});
  for (const char* label : {"one", "seven"}) EXPECT_THAT(result.out, HasSubstr(label));
  const json info = json::parse(succeed({"info", "-m", kGoogle, "--labels", file, "--format", "json"}).out);
  EXPECT_EQ(info.at("labels").at(6), "seven");
  const std::string onnx = folder / "model.onnx";
  succeed({"export", "-m", kGoogle, "--labels", file, "-o", onnx, "--no-verify"});
  EXPECT_THAT(succeed({"classify", "-m", onnx, kCat, "-k", "7"}).out, HasSubstr("seven"));
}

TEST(Labels, ThatDoNotFitAreMisuse) {
  const TempFolder folder;
  const std::string file = folder.write("labels.txt", "one\ntwo\n").string();
  for (const Arguments& command : commands(folder)) {
    if (command.front() != "classify" && command.front() != "info" && command.front() != "export") continue;
    expect_failure(2, command + Arguments{"-m", kGoogle, "--labels", file},
                   {"labels.txt", "2 labels", "7 classes"});
    expect_failure(2, command + Arguments{"-m", kGoogle, "--labels", folder / "none.txt"}, {"none.txt"});
    expect_failure(2, command + Arguments{"-m", kGoogle, "--labels", ""}, {"--labels"});
    expect_failure(2, command + Arguments{"-m", kDinov2, "--labels", file}, {"0 classes"});
  }
  expect_failure(2, {"info", "--arch", "vit_b_16", "--labels", file}, {"2 labels", "1000 classes"});
}

}  // namespace
}  // namespace vit::test
