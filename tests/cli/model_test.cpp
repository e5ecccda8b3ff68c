// Models that cannot be loaded, and `run`, `preprocess`, `info` as a user sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "io/safetensors.hpp"
#include "io/safetensors_writer.hpp"
#include "tests/cli/command.hpp"

namespace vit::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

const std::string kModel = VITRINE_DATA "/models/fashion-mnist-vit";
const std::string kBoot = VITRINE_DATA "/images/fashion-mnist/0000-ankle-boot.png";

/// A copy of the shipped model to damage.
class ModelCopy {
 public:
  ModelCopy() {
    for (const char* name : {"config.json", "preprocessor_config.json", "model.safetensors"}) {
      fs::copy_file(fs::path(kModel) / name, file(name));
      fs::permissions(file(name), fs::perms::owner_all);
    }
  }
  std::string path() const { return folder_.path().native(); }
  std::string file(const std::string& name) const { return folder_ / name; }

  void write(const std::string& name, const std::string& text) { folder_.write(name, text); }

  void change_config(const std::string& key, const json& value, const std::string& name = "config.json") {
    json config = json::parse(read_text(file(name)));
    config[key] = value;
    write(name, config.dump());
  }

 private:
  TempFolder folder_;
};

/// `classify` with this model ends with exit code 3, nothing on stdout, and a message that holds all of
/// `parts`.
void expect_refused(const std::string& model, const std::vector<std::string>& parts) {
  const CommandResult result = vitrine({"classify", "-m", model, kBoot, "--format", "jsonl"});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_EQ(result.out, "");
  for (const std::string& part : parts) EXPECT_THAT(result.err, HasSubstr(part));
}

TEST(BadModel, MissingFolder) {
  expect_refused("/no/such/folder", {"/no/such/folder"});
}

TEST(BadModel, EmptyFolder) {
  TempFolder folder;
  expect_refused(folder.path().native(), {"config.json"});
}

TEST(BadModel, NoWeights) {
  ModelCopy model;
  fs::remove(model.file("model.safetensors"));
  expect_refused(model.path(), {"model.safetensors"});
}

TEST(BadModel, TensorFlowWeightsOnlySaysWhatToDo) {
  ModelCopy model;
  fs::rename(model.file("model.safetensors"), model.file("tf_model.h5"));
  expect_refused(model.path(), {"tf_model.h5", "safetensors"});
}

TEST(BadModel, GitLfsPointer) {
  ModelCopy model;
  model.write("model.safetensors",
              "version https://git-lfs.github.com/spec/v1\noid "
              "sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258da\nsize 2738632\n");
  expect_refused(model.path(), {"model.safetensors", "git lfs pull"});
}

TEST(BadModel, WebPage) {
  ModelCopy model;
  model.write("model.safetensors", "<!doctype html>\n<html><head><title>Sign in</title></head></html>\n");
  expect_refused(model.path(), {"model.safetensors", "web page"});
}

TEST(BadModel, TruncatedWeights) {
  ModelCopy model;
  const auto size = fs::file_size(model.file("model.safetensors"));
  for (const auto left : {size - 1, size / 2, std::uintmax_t{100}, std::uintmax_t{7}, std::uintmax_t{0}}) {
    fs::resize_file(model.file("model.safetensors"), left);
    expect_refused(model.path(), {"model.safetensors"});
  }
}

TEST(BadModel, TrailingBytes) {
  ModelCopy model;
  std::ofstream(model.file("model.safetensors"), std::ios::app) << 'x';
  expect_refused(model.path(), {"model.safetensors"});
}

TEST(BadModel, WrongDtype) {
  ModelCopy model;
  std::string bytes = read_text(model.file("model.safetensors"));
  const std::size_t at = bytes.find("\"F32\"");
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 5, "\"I32\"");
  model.write("model.safetensors", bytes);
  expect_refused(model.path(), {"model.safetensors", "I32"});
}

TEST(BadModel, UnknownModelType) {
  ModelCopy model;
  model.change_config("model_type", "perceiver");
  expect_refused(model.path(), {"config.json", "perceiver", "vit"});
}

TEST(BadModel, UnknownActivation) {
  ModelCopy model;
  model.change_config("hidden_act", "gelu_ultra");
  expect_refused(model.path(), {"config.json", "hidden_act", "gelu_ultra", "quick_gelu"});
}

TEST(BadModel, DamagedConfig) {
  ModelCopy model;
  model.write("config.json", "{\"model_type\": \"vit\",");
  expect_refused(model.path(), {"config.json"});
  model.write("config.json", std::string(100000, '['));
  expect_refused(model.path(), {"config.json"});
}

TEST(BadModel, ConfigOfAnotherSize) {
  ModelCopy model;
  model.change_config("hidden_size", 192);
  expect_refused(model.path(), {"vit.embeddings.cls_token", "[1, 1, 192]", "[1, 1, 96]"});
}

TEST(BadModel, HugeNumbersTakeNoMemory) {
  ModelCopy model;
  model.change_config("num_hidden_layers", 4000000000LL);
  expect_refused(model.path(), {"config.json", "num_hidden_layers"});
}

TEST(BadModel, MissingPictureRecipe) {
  ModelCopy model;
  fs::remove(model.file("preprocessor_config.json"));
  expect_refused(model.path(), {"preprocessor_config.json"});
}

TEST(BadModel, BackboneWithoutHead) {
  ModelCopy model;
  const io::SafetensorsFile source(model.file("model.safetensors"));
  std::vector<std::pair<std::string, ConstTensorView>> tensors;
  std::vector<Tensor> values;
  for (const io::StoredTensor& tensor : source.tensors()) {
    if (tensor.name.starts_with("classifier.")) continue;
    values.push_back(source.read(tensor.name));
    tensors.emplace_back(tensor.name, ConstTensorView{values.back().data(), tensor.shape});
  }
  TempFolder folder;
  io::write_safetensors(folder / "model.safetensors", tensors);
  fs::copy_file(folder / "model.safetensors", model.file("model.safetensors"),
                fs::copy_options::overwrite_existing);
  model.change_config("architectures", {"ViTModel"});
  expect_refused(model.path(), {"head"});
  // run gives its features all the same
  const Tensor zeros({1, 3, 28, 28});
  std::fill_n(const_cast<float*>(zeros.data()), zeros.size(), 0.0F);
  io::write_safetensors(folder / "in.safetensors", {{"pixel_values", zeros.view()}});
  const CommandResult run = vitrine(
      {"run", "-m", model.path(), "--input", folder / "in.safetensors", "-o", folder / "out.safetensors"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(io::SafetensorsFile(folder / "out.safetensors").read("features").shape(), (Shape{1, 96}));
}

// ------------------------------------------------------------------------------------------------ run,
// preprocess

TEST(Preprocess, ThenRunGivesTheLogitsOfTheReference) {
  // What transformers computes for the first test picture (first row of the expected-test.csv made with the
  // model).
  const std::vector<float> expected{-1.29970F, -1.14215F, -0.79599F, -1.15767F, -0.72206F,
                                    0.07401F,  -0.84813F, 2.08556F,  -0.76856F, 4.21456F};
  TempFolder folder;
  const CommandResult pixels = vitrine({"preprocess", kBoot, "-o", folder / "pixels.safetensors"});
  ASSERT_EQ(pixels.exit_code, 0) << pixels.err;
  EXPECT_EQ(json::parse(pixels.out).at("index"), 0);
  const CommandResult run =
      vitrine({"run", "--input", folder / "pixels.safetensors", "-o", folder / "out.safetensors", "--outputs",
               "logits,hidden_states,attentions,features,last_hidden_state"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "");
  const io::SafetensorsFile out(folder / "out.safetensors");
  const Tensor logits = out.read("logits");
  ASSERT_EQ(logits.shape(), (Shape{1, 10}));
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(logits.data()[i], expected[i], 4.2e-5 + 5e-6) << i;
  EXPECT_EQ(out.read("hidden_states.6").shape(), (Shape{1, 50, 96}));
  EXPECT_EQ(out.read("attentions.5").shape(), (Shape{1, 3, 50, 50}));
  EXPECT_EQ(out.tensors().size(), 7U + 6U + 3U);
}

TEST(Preprocess, FailedPicturesAreRowsAndTheRestIsWritten) {
  TempFolder folder;
  folder.write("empty.png", "");
  const CommandResult result =
      vitrine({"preprocess", kBoot, folder / "empty.png", kBoot, "-o", folder / "pixels.safetensors"});
  EXPECT_EQ(result.exit_code, 1);
  std::istringstream lines(result.out);
  std::vector<json> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(json::parse(line));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].at("error").at("code"), "image_empty");
  EXPECT_EQ(rows[2].at("index"), 1);
  EXPECT_EQ(io::SafetensorsFile(folder / "pixels.safetensors").read("pixel_values").shape(),
            (Shape{2, 3, 28, 28}));
}

TEST(Preprocess, NoPictureNoFile) {
  TempFolder folder;
  folder.write("empty.png", "");
  EXPECT_EQ(vitrine({"preprocess", folder / "empty.png", "-o", folder / "pixels.safetensors"}).exit_code, 1);
  EXPECT_FALSE(fs::exists(folder / "pixels.safetensors"));
}

TEST(Run, RefusesTensorsThatDoNotFit) {
  TempFolder folder;
  const auto run = [&](const std::string& name, Shape shape) {
    Tensor tensor(std::move(shape));
    std::fill_n(tensor.data(), tensor.size(), 0.0F);
    io::write_safetensors(folder / "in.safetensors", {{name, tensor.view()}});
    return vitrine({"run", "--input", folder / "in.safetensors", "-o", folder / "out.safetensors"});
  };
  for (const Shape& shape :
       {Shape{1, 1, 28, 28}, {3, 28, 28}, {0, 3, 28, 28}, {1, 3, 3, 28}, {1, 3, 28, 0}}) {
    const CommandResult result = run("pixel_values", shape);
    EXPECT_EQ(result.exit_code, 1) << ::testing::PrintToString(shape) << result.err;
    EXPECT_THAT(result.err, HasSubstr("in.safetensors"));
    EXPECT_THAT(result.err, HasSubstr("pixel_values"));
  }
  EXPECT_THAT(run("pixels", {1, 3, 28, 28}).err, HasSubstr("pixel_values"));
  EXPECT_EQ(run("pixel_values", {9, 3, 32, 40}).exit_code, 0);  // another size and more than one batch
  EXPECT_EQ(vitrine({"run", "--input", "/no/such.safetensors", "-o", folder / "o"}).exit_code, 1);
  EXPECT_EQ(vitrine({"run", "--input", folder / "in.safetensors", "-o", folder / "no/such/o"}).exit_code, 4);
}

// ------------------------------------------------------------------------------------------------ info

TEST(Run, NaNIsAnErrorNotALabel) {
  TempFolder folder;
  Tensor tensor({1, 3, 28, 28});
  std::fill_n(tensor.data(), tensor.size(), std::nanf(""));
  io::write_safetensors(folder / "in.safetensors", {{"pixel_values", tensor.view()}});
  const CommandResult result =
      vitrine({"run", "--input", folder / "in.safetensors", "-o", folder / "out.safetensors"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("NaN"));
}

TEST(Output, NeverDestroysWhatIsRead) {
  TempFolder folder;
  fs::copy_file(kBoot, folder / "in.png");
  const std::string before = read_text(folder / "in.png");
  for (const char* command : {"classify", "preprocess"}) {
    EXPECT_EQ(vitrine({command, folder / "in.png", "-o", folder.path() / "." / "in.png"}).exit_code, 2);
  }
  EXPECT_EQ(vitrine({"run", "--input", folder / "in.png", "-o", folder / "in.png"}).exit_code, 2);
  EXPECT_EQ(read_text(folder / "in.png"), before);
}

TEST(BadModel, ARenamedTensorIsNamedBesideTheMissingOne) {
  ModelCopy model;
  std::string bytes = read_text(model.file("model.safetensors"));
  const std::size_t at = bytes.find("\"vit.layernorm.weight\"");
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 22, "\"abc.layernorm.weight\"");
  model.write("model.safetensors", bytes);
  expect_refused(model.path(), {"missing: vit.layernorm.weight", "abc.layernorm.weight"});
}

TEST(BadModel, EmptyName) {
  const CommandResult result = vitrine({"classify", "-m", "", kBoot});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
}

TEST(Info, SaysWhatWasResolved) {
  const CommandResult text = vitrine({"info"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out.back(), '\n');
  for (const char* part : {"ViTForImageClassification", "gelu", "1e-12", "ViTImageProcessor", "bilinear"}) {
    EXPECT_THAT(text.out, HasSubstr(part));
  }
  const json info = json::parse(vitrine({"info", "--format", "json"}).out);
  EXPECT_EQ(info.at("family"), "hf_vit");
  EXPECT_EQ(info.at("config").at("hidden_size"), 96);
  EXPECT_EQ(info.at("config").at("num_tokens"), 50);
  // 6 blocks of 12 D² + 13 D, embeddings (48 + 1) D + 51 D, norm 2 D, head 10 (D + 1); D = 96
  EXPECT_EQ(info.at("parameters"), 6 * (12 * 96 * 96 + 13 * 96) + 49 * 96 + 51 * 96 + 2 * 96 + 10 * 97);
  EXPECT_EQ(info.at("labels").at(9), "Ankle boot");
  EXPECT_EQ(info.at("recipe").at("resize").at("interpolation"), "bilinear");
}

TEST(Info, TellsMemoryAndWarnsInBothFormats) {
  EXPECT_THAT(vitrine({"info"}).out, ::testing::Not(HasSubstr("warning")));
  const std::vector<std::string> asked{"info", "--image-size", "56"};
  const json info = json::parse(vitrine({"info", "--image-size", "56", "--format", "json"}).out);
  const std::string text = vitrine(asked).out;
  EXPECT_EQ(info.at("memory").at("fp32").at("weights_bytes"), info.at("weights_bytes_fp32"));
  for (const char* precision : {"fp32", "bf16", "int8"}) {
    const json& memory = info.at("memory").at(precision);
    EXPECT_GT(memory.at("workspace_bytes"), 0);
    EXPECT_THAT(text, HasSubstr(std::string("memory in ") + precision + ": "));
    if (!memory.at("shortage").is_null()) {
      EXPECT_THAT(text, HasSubstr(memory.at("shortage").get<std::string>()));
    }
  }
  ASSERT_EQ(info.at("warnings").size(), 1U);
  EXPECT_EQ(info.at("warnings")[0].at("topic"), "positions");
  EXPECT_THAT(text,
              HasSubstr("warning (positions): " + info.at("warnings")[0].at("message").get<std::string>()));
}

}  // namespace
}  // namespace vit::test
