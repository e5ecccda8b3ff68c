// vitrine quantize, and what every command makes of the folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/safetensors.hpp"
#include "io/safetensors_writer.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/editable_model.hpp"
#include "tests/support/random.hpp"

namespace vit::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kModel = VITRINE_DATA "/models/fashion-mnist-vit";
const std::string kBoot = VITRINE_DATA "/images/fashion-mnist/0000-ankle-boot.png";

/// The shipped model in 8 bits, and a picture as a tensor.
class Quantize : public testing::Test {
 protected:
  void SetUp() override {
    const CommandResult made = vitrine({"quantize", "-o", int8_});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    report_ = made.out;
    ASSERT_EQ(vitrine({"preprocess", kBoot, "-o", pixels_}).exit_code, 0);
  }

  /// The bytes of what `run` gives.
  std::string run(const std::string& model, const std::vector<std::string>& options = {}) {
    std::vector<std::string> arguments{"run", "-m", model, "--input", pixels_, "-o", folder_ / "y"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const CommandResult result = vitrine(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    fell_back_ = result.err.find("fp32 is used") != std::string::npos;
    return read_text(folder_ / "y");
  }

  TempFolder folder_;
  std::string int8_ = folder_ / "int8";
  std::string pixels_ = folder_ / "pixels.safetensors";
  std::string report_;
  bool fell_back_ = false;  ///< the last run, since this processor has no int8
};

TEST_F(Quantize, SaysWhatItWrote) {
  for (const char* part : {"140 tensors, 36 of them int8", "from 2.7 MB of F32", "model.safetensors",
                           "config.json", "preprocessor_config.json"})
    EXPECT_THAT(report_, HasSubstr(part));
}

TEST_F(Quantize, GivesTheVeryLogitsOfPrecisionInt8) {
  const std::string expected = run(kModel, {"--precision", "int8"});
  if (fell_back_) GTEST_SKIP() << "no int8 on this processor";
  EXPECT_EQ(run(int8_), expected);
  EXPECT_EQ(run(int8_, {"--precision", "int8"}), expected);
  EXPECT_NE(run(kModel), expected);
}

TEST_F(Quantize, OtherPrecisionsComputeWithTheNumbersThatTheIntegersStandFor) {
  ASSERT_EQ(vitrine({"convert", "-m", int8_, "-o", folder_ / "numbers"}).exit_code, 0);
  for (const char* precision : {"fp32", "bf16"})
    EXPECT_EQ(run(int8_, {"--precision", precision}), run(folder_ / "numbers", {"--precision", precision}));
}

TEST_F(Quantize, ClassifiesAndIsShownByInfo) {
  const CommandResult rows = vitrine({"classify", "-m", int8_, kBoot, "--format", "jsonl", "-k", "1", "-v"});
  ASSERT_EQ(rows.exit_code, 0) << rows.err;
  EXPECT_EQ(json::parse(rows.out).at("predictions").at(0).at("label"), "Ankle boot");
  EXPECT_THAT(rows.err, HasSubstr("precision: int8"));
  const json info = json::parse(vitrine({"info", "-m", int8_, "--format", "json"}).out);
  EXPECT_EQ(info.at("precision"), "int8");
  EXPECT_EQ(info.at("stored_dtype"), "F32, I8");
  EXPECT_EQ(info.at("parameters"), 681802);
  EXPECT_THAT(vitrine({"info", "-m", int8_}).out,
              HasSubstr("quantised from: \"fashion-mnist-vit/model.safetensors, F32\""));
  EXPECT_EQ(json::parse(vitrine({"info", "--format", "json"}).out).at("precision"), "fp32");
}

TEST_F(Quantize, IsKnownToTheOtherCommands) {
  const CommandResult same = vitrine({"verify", int8_, "-m", kModel});
  EXPECT_EQ(same.exit_code, 0) << same.out;
  const CommandResult exported = vitrine({"export", "-m", int8_, "-o", folder_ / "m.onnx"});
  EXPECT_EQ(exported.exit_code, 0) << exported.err;
  EXPECT_THAT(exported.err, HasSubstr("--weights int8"));
  const CommandResult converted = vitrine({"convert", "-m", int8_, "-o", folder_ / "numbers"});
  EXPECT_EQ(converted.exit_code, 0);
  EXPECT_THAT(converted.err, HasSubstr("the numbers that they stand for"));
  EXPECT_EQ(vitrine({"classify", "-m", int8_ + "/model.safetensors", kBoot}).exit_code, 0);
}

TEST_F(Quantize, OfAnExportedFileToo) {
  ASSERT_EQ(vitrine({"export", "-o", folder_ / "m.onnx"}).exit_code, 0);
  ASSERT_EQ(vitrine({"quantize", "-m", folder_ / "m.onnx", "-o", folder_ / "from_onnx"}).exit_code, 0);
  EXPECT_EQ(run(folder_ / "from_onnx"), run(int8_));
}

TEST_F(Quantize, RefusesWhatItCannotDo) {
  const CommandResult again = vitrine({"quantize", "-m", int8_, "-o", folder_ / "again"});
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_THAT(again.err, HasSubstr("8-bit integers already"));
  const CommandResult in_the_way = vitrine({"quantize", "-o", int8_});
  EXPECT_EQ(in_the_way.exit_code, 4);
  EXPECT_THAT(in_the_way.err, HasSubstr("--force"));
  EXPECT_EQ(vitrine({"quantize", "-o", int8_, "--force"}).exit_code, 0);
  EXPECT_EQ(vitrine({"quantize"}).exit_code, 2);
  EXPECT_EQ(vitrine({"quantize", "-m", folder_ / "none", "-o", folder_ / "x"}).exit_code, 3);
  folder_.write("file", "");
  EXPECT_EQ(vitrine({"quantize", "-o", folder_ / "file"}).exit_code, 4);
  EXPECT_THAT(vitrine({"quantize", "-o", folder_ / "quiet", "-q"}).err, IsEmpty());
}

TEST_F(Quantize, NeverDestroysWhatItReads) {
  const fs::path copy = folder_ / "copy";
  fs::copy(kModel, copy);
  const std::string before = read_text(copy / "model.safetensors");
  const auto refused = [&](const std::string& output) {
    const CommandResult result = vitrine({"quantize", "-m", copy, "-o", output, "--force"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("would be destroyed"));
    EXPECT_EQ(read_text(copy / "model.safetensors"), before);
  };
  refused(copy);
  refused(copy / "." / "");
  fs::create_directory(folder_ / "linked");
  fs::create_symlink(copy / "model.safetensors", folder_ / "linked/model.safetensors");
  refused(folder_ / "linked");
}

/// A DINOv2-like network with layer scale whose blocks are nearly all of it.
void write_large_model(const TempFolder& folder) {
  EditableModel model("hf_dinov2_model");
  constexpr std::int64_t kWidth = 384;
  model.config["hidden_size"] = kWidth;
  model.config["num_attention_heads"] = 6;
  std::uint32_t seed = 1;
  const std::int64_t narrow = EditableModel("hf_dinov2_model").config["hidden_size"];
  for (auto& [name, tensor] : model.tensors) {
    for (std::int64_t& size : tensor.shape) {
      if (size % narrow == 0) size = size / narrow * kWidth;
    }
    const Tensor values = normal_tensor(tensor.shape, seed++, 0.05, 0);
    tensor.dtype = "F32";
    tensor.bytes.assign(reinterpret_cast<const char*>(values.data()),
                        static_cast<std::size_t>(values.size()) * sizeof(float));
  }
  model.write(folder);
}

TEST(QuantizeLarge, TakesAQuarterOfTheSizeAndGivesTheSameNumbers) {
  const TempFolder source;
  write_large_model(source);
  const TempFolder folder;
  const CommandResult made = vitrine({"quantize", "-m", source.path(), "-o", folder / "int8"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const double share = static_cast<double>(fs::file_size(folder / "int8/model.safetensors")) /
                       static_cast<double>(fs::file_size(source / "model.safetensors"));
  EXPECT_LT(share, 0.30);
  EXPECT_GT(share, 0.25);
  const std::string input = EditableModel::folder_of("hf_dinov2_model") / "expected.safetensors";
  const auto run = [&](const std::string& model, const std::string& output) {
    return vitrine({"run", "-m", model, "--input", input, "-o", output, "--precision", "int8", "--outputs",
                    "hidden_states"});
  };
  const CommandResult plain = run(source.path(), folder / "plain");
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  ASSERT_EQ(run(folder / "int8", folder / "stored").exit_code, 0);
  if (plain.err.find("fp32 is used") != std::string::npos) GTEST_SKIP() << plain.err;
  EXPECT_EQ(read_text(folder / "stored"), read_text(folder / "plain"));
}

}  // namespace
}  // namespace vit::test
