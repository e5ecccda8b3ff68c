// `vitrine verify`: whether two models compute the same, and where they part.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/cli/command.hpp"
#include "tests/support/editable_model.hpp"

namespace vit::test {
namespace {

using ::testing::HasSubstr;

const std::string kSource = EditableModel::folder_of("hf_vit_base").string();
const std::string kCat = VITRINE_DATA "/images/chelsea.png";

/// hf_vit_base with one number of one tensor changed.
void write_changed(const TempFolder& folder, const std::string& tensor) {
  EditableModel model("hf_vit_base");
  const float other = 3.0F;
  std::memcpy(model.tensors.at(tensor).bytes.data(), &other, sizeof other);
  model.write(folder);
}

std::string exported(const TempFolder& folder, const std::vector<std::string>& options = {}) {
  const std::string path = folder / "m.onnx";
  std::vector<std::string> arguments{"export", "-m", kSource, "-o", path};
  arguments.insert(arguments.end(), options.begin(), options.end());
  EXPECT_EQ(vitrine(arguments).exit_code, 0);
  return path;
}

TEST(Verify, AFileAndItsSourceAreEqual) {
  for (const std::vector<std::string>& options : {std::vector<std::string>{},
                                                  {"--input", "uint8"},
                                                  {"--batch", "2", "--opset", "13"},
                                                  {"--weights", "fp16"}}) {
    SCOPED_TRACE(::testing::PrintToString(options));
    const TempFolder folder;
    const std::string file = exported(folder, options);
    for (const std::vector<std::string>& pictures : {std::vector<std::string>{}, {kCat}}) {
      std::vector<std::string> arguments{"verify", file, "-m", kSource};
      arguments.insert(arguments.end(), pictures.begin(), pictures.end());
      const CommandResult result = vitrine(arguments);
      EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
      for (const char* part : {"max |Δ logits|", "hidden_states.0", "hidden_states.2", "last_hidden_state",
                               "features", "logits", "another top-1: 0 of", "largest value: none"})
        EXPECT_THAT(result.out, HasSubstr(part));
    }
  }
}

TEST(Verify, NamesTheFirstStageThatDiffers) {
  const TempFolder folder;
  const TempFolder changed;
  const std::string file = exported(folder);
  const std::string layer = "vit.encoder.layer.1.";
  for (const auto& [tensor, stage] : {std::pair{std::string("vit.embeddings.cls_token"), "hidden_states.0"},
                                      {layer + "attention.output.dense.bias", "hidden_states.2"},
                                      {std::string("vit.layernorm.bias"), "last_hidden_state"},
                                      {std::string("classifier.bias"), "logits"}}) {
    write_changed(changed, tensor);
    for (const auto& [a, b] : {std::pair{file, changed.path().string()}, {changed.path().string(), file}}) {
      const CommandResult result = vitrine({"verify", a, "-m", b});
      EXPECT_EQ(result.exit_code, 5) << result.out << result.err;
      EXPECT_THAT(result.out, HasSubstr(std::string("largest value: ") + stage + "\n")) << tensor;
    }
  }
  EXPECT_EQ(vitrine({"verify", file, "-m", changed.path().string(), "--tolerance", "1000"}).exit_code, 0);
}

TEST(Verify, TwoCheckpoints) {
  EXPECT_EQ(vitrine({"verify", kSource, "-m", kSource, kCat}).exit_code, 0);
  const CommandResult other =
      vitrine({"verify", EditableModel::folder_of("hf_vit_v5_names").string(), "-m", kSource});
  EXPECT_EQ(other.exit_code, 5) << other.out << other.err;
  EXPECT_THAT(other.out, HasSubstr("largest value: hidden_states.0\n"));
}

TEST(Verify, APictureThatCannotBeReadFailsAlone) {
  const TempFolder folder;
  const std::string file = exported(folder);
  const CommandResult result = vitrine({"verify", file, "-m", kSource, folder / "none.png", kCat});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("none.png"));
  EXPECT_THAT(result.out, HasSubstr("chelsea.png"));
}

TEST(Verify, RefusesWhatIsNoModel) {
  const TempFolder folder;
  EXPECT_EQ(vitrine({"verify", folder / "no.onnx", "-m", kSource}).exit_code, 3);
  const CommandResult damaged =
      vitrine({"verify", folder.write("bad.onnx", "no model").string(), "-m", kSource});
  EXPECT_EQ(damaged.exit_code, 3);
  EXPECT_THAT(damaged.err, HasSubstr("not an ONNX model"));
  EXPECT_EQ(vitrine({"verify", kSource}).exit_code, 2);
}

}  // namespace
}  // namespace vit::test
