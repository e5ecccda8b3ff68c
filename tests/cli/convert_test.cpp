// vitrine convert, and what run gives of networks with two heads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/safetensors.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/editable_model.hpp"

namespace vit::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string folder_of(const std::string& name) {
  return EditableModel::folder_of(name).string();
}

TEST(Convert, WritesAFolderThatClassifiesAsItsSource) {
  const TempFolder folder;
  const std::string source = EditableModel::path_of("tv_vit_eps6").string();
  const CommandResult converted = vitrine({"convert", "-m", source, "-o", folder / "hf"});
  ASSERT_EQ(converted.exit_code, 0) << converted.err;
  for (const char* part :
       {"40 tensors, fp32", "model.safetensors", "config.json", "preprocessor_config.json"})
    EXPECT_THAT(converted.out, HasSubstr(part));
  EXPECT_THAT(converted.err, HasSubstr("transformers"));  // what it cannot say as torchvision does
  const std::string picture = folder_of("hf_vit_base") + "/image.png";
  EXPECT_EQ(vitrine({"classify", picture, "-m", folder / "hf", "--format", "jsonl"}).exit_code, 0);
  EXPECT_THAT(vitrine({"convert", "-m", source, "-o", folder / "quiet", "-q"}).err, IsEmpty());
}

TEST(Convert, FromAnExportedFileToo) {
  const TempFolder folder;
  ASSERT_EQ(vitrine({"export", "-m", folder_of("hf_vit_base"), "-o", folder / "m.onnx"}).exit_code, 0);
  ASSERT_EQ(vitrine({"convert", "-m", folder / "m.onnx", "-o", folder / "back"}).exit_code, 0);
  const CommandResult same = vitrine({"verify", folder / "m.onnx", "-m", folder / "back"});
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
}

TEST(Convert, EndsWithTheCodesOfTheReadme) {
  const TempFolder folder;
  const std::string source = folder_of("hf_vit_base");
  EXPECT_EQ(vitrine({"convert", "-m", source}).exit_code, 2);
  EXPECT_EQ(vitrine({"convert", "-m", source, "-o", folder / "x", "--dtype", "fp64"}).exit_code, 2);
  EXPECT_EQ(vitrine({"convert", "-m", source, "-o", folder / "x", "--to", "keras"}).exit_code, 2);
  EXPECT_EQ(vitrine({"convert", "-m", folder / "none", "-o", folder / "x"}).exit_code, 3);
  const CommandResult refused =
      vitrine({"convert", "-m", folder_of("timm_vit_qk_norm"), "-o", folder / "x", "--to", "transformers"});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, HasSubstr("qk_norm"));
  ASSERT_EQ(vitrine({"convert", "-m", source, "-o", folder / "x", "--dtype", "bf16"}).exit_code, 0);
  const CommandResult in_the_way = vitrine({"convert", "-m", source, "-o", folder / "x"});
  EXPECT_EQ(in_the_way.exit_code, 4);
  EXPECT_THAT(in_the_way.err, HasSubstr("--force"));
  EXPECT_EQ(vitrine({"convert", "-m", source, "-o", folder / "x", "--force"}).exit_code, 0);
  folder.write("file", "");
  EXPECT_EQ(vitrine({"convert", "-m", source, "-o", folder / "file"}).exit_code, 4);
}

TEST(RunOutputs, BothHeadsOfADistilledNetworkAndTheirMean) {
  const TempFolder folder;
  const std::string model = folder_of("hf_deit_teacher");
  const CommandResult run =
      vitrine({"run", "-m", model, "--input", model + "/expected.safetensors", "-o", folder / "y.safetensors",
               "--outputs", "logits,cls_logits,distillation_logits,features_distillation"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const io::SafetensorsFile got(folder / "y.safetensors");
  const io::SafetensorsFile expected(model + "/expected.safetensors");
  for (const char* name : {"logits", "cls_logits", "distillation_logits", "features_distillation"}) {
    ASSERT_NE(expected.find(name), nullptr) << name;
    const Tensor ours = got.read(name);
    const Tensor theirs = expected.read(name);
    EXPECT_TRUE(matches(name, ours.view(), theirs.view(), {1e-5}));
  }
}

TEST(RunOutputs, WhatAModelLacksIsRefused) {
  const TempFolder folder;
  const std::string model = folder_of("hf_vit_base");
  for (const char* output : {"pooler_output", "cls_logits", "distillation_logits", "features_distillation"}) {
    const CommandResult run = vitrine({"run", "-m", model, "--input", model + "/expected.safetensors", "-o",
                                       folder / "y.safetensors", "--outputs", output});
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, HasSubstr(output));
  }
}

}  // namespace
}  // namespace vit::test
