// What is the same for every family: nothing of a checkpoint may be missing, renamed or of another shape.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "io/checkpoint.hpp"
#include "tests/support/editable_model.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::io {
namespace {

using test::EditableModel;
using test::TempFolder;
using testing::HasSubstr;

Checkpoint load(const EditableModel& model) {
  const TempFolder folder;
  model.write(folder);
  return load_checkpoint(folder.path());
}

/// The message with which a checkpoint is refused, empty if it is not.
std::string refusal(const EditableModel& model) {
  try {
    load(model);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::weights_invalid) << error.what();
    return error.what();
  }
  return "";
}

class EveryTensor : public testing::TestWithParam<const char*> {
 protected:
  const EditableModel whole{GetParam()};

  /// Names of the tensors that the network uses.
  std::vector<std::string> used() const {
    const CheckpointInfo info = load(whole).info;
    std::vector<std::string> names;
    for (const auto& [name, tensor] : whole.tensors) {
      if (std::find(info.ignored.begin(), info.ignored.end(), name) == info.ignored.end())
        names.push_back(name);
    }
    EXPECT_TRUE(info.unmatched.empty()) << info.unmatched.front();
    return names;
  }
};

TEST_P(EveryTensor, IsMissedByItsName) {
  for (const std::string& name : used()) {
    EditableModel model = whole;
    model.tensors.erase(name);
    EXPECT_THAT(refusal(model), HasSubstr("1 missing: " + name)) << name;
  }
}

TEST_P(EveryTensor, MustHaveItsName) {
  for (const std::string& name : used()) {
    EditableModel model = whole;
    model.rename(name, name + "_x");
    const std::string message = refusal(model);
    EXPECT_THAT(message, HasSubstr("1 missing: " + name)) << name;
    EXPECT_THAT(message, HasSubstr(name + "_x")) << name;
  }
}

TEST_P(EveryTensor, MustHaveItsShape) {
  for (const std::string& name : used()) {
    EditableModel model = whole;
    Shape& shape = model.tensors.at(name).shape;
    std::reverse(shape.begin(), shape.end());
    if (shape == whole.tensors.at(name).shape) shape.push_back(1);
    EXPECT_THAT(refusal(model), HasSubstr("of another shape: " + name + " (expected ")) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, EveryTensor,
                         testing::Values("hf_vit_base", "hf_dinov2_swiglu", "hf_dinov2_reg_larger",
                                         "hf_vit_msn", "hf_deit_teacher", "hf_ijepa", "hf_clip",
                                         "hf_beit_larger", "hf_dinov3_gated_nonsquare", "hf_siglip_model",
                                         "timm_vit_qk_norm", "timm_vit_reg4_gap", "timm_vit_map",
                                         "timm_deit_distilled", "timm_beit", "timm_eva02"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace vit::io
