// What is the same for every family: nothing of a checkpoint may be missing, renamed or of another shape.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
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

struct Case {
  std::string model;
  /// For a release, which has none. {}: the folder's own.
  nlohmann::ordered_json config = {};
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.model;
}

nlohmann::ordered_json named(const std::string& architecture, nlohmann::ordered_json args) {
  return {{"architecture", architecture}, {"model_args", std::move(args)}};
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const char* model : {"hf_vit_base",
                            "hf_vit_v5_names",
                            "hf_dinov2_swiglu",
                            "hf_dinov2_reg_larger",
                            "hf_vit_msn",
                            "hf_deit_teacher",
                            "hf_ijepa",
                            "hf_clip",
                            "hf_beit_larger",
                            "hf_dinov3_gated_nonsquare",
                            "hf_siglip_model",
                            "timm_vit_qk_norm",
                            "timm_vit_reg4_gap",
                            "timm_vit_map",
                            "timm_deit_distilled",
                            "timm_form_differential_parallel",
                            "timm_form_rope_mixed",
                            "timm_beit",
                            "timm_eva02",
                            "timm_dinov3"})
    list.push_back({model});
  list.push_back({"dinov2_larger", named("dinov2_vits14", {{"embed_dim", 64},
                                                           {"in_chans", 3},
                                                           {"depth", 2},
                                                           {"num_heads", 1},
                                                           {"mlp_size", 128},
                                                           {"patch_size", 14},
                                                           {"img_size", 70}})});
  list.push_back({"dinov2_swiglu_reg", named("dinov2_vitg14_reg", {{"embed_dim", 64},
                                                                   {"in_chans", 3},
                                                                   {"depth", 2},
                                                                   {"num_heads", 1},
                                                                   {"mlp_size", 88},
                                                                   {"swiglu", 1},
                                                                   {"patch_size", 14},
                                                                   {"num_register_tokens", 2},
                                                                   {"img_size", 70}})});
  list.push_back({"dinov3_mlp", named("dinov3_vits16", {{"embed_dim", 64},
                                                        {"in_chans", 3},
                                                        {"depth", 2},
                                                        {"num_heads", 1},
                                                        {"mlp_size", 128},
                                                        {"patch_size", 16},
                                                        {"n_storage_tokens", 4}})});
  list.push_back({"dinov3_swiglu", named("dinov3_vits16plus", {{"embed_dim", 128},
                                                               {"in_chans", 3},
                                                               {"depth", 2},
                                                               {"num_heads", 2},
                                                               {"mlp_size", 64},
                                                               {"swiglu", 1},
                                                               {"patch_size", 8},
                                                               {"n_storage_tokens", 4}})});
  list.push_back({"google_vit", named("vit_tiny_patch16_224", {{"img_size", 32},
                                                               {"patch_size", 8},
                                                               {"embed_dim", 48},
                                                               {"in_chans", 3},
                                                               {"depth", 2},
                                                               {"num_heads", 3},
                                                               {"mlp_ratio", 2},
                                                               {"num_classes", 7}})});
  list.push_back({"tv_vit_representation", named("vit_b_16", {{"image_size", 32},
                                                              {"in_channels", 3},
                                                              {"patch_size", 8},
                                                              {"num_layers", 2},
                                                              {"num_heads", 3},
                                                              {"hidden_dim", 48},
                                                              {"mlp_dim", 96},
                                                              {"num_classes", 7},
                                                              {"representation_size", 40}})});
  return list;
}

class EveryTensor : public testing::TestWithParam<Case> {
 protected:
  EveryTensor() : whole(GetParam().model) {
    if (!GetParam().config.empty()) whole.config = GetParam().config;
  }

  EditableModel whole;

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
    const auto expect_refused = [&](const EditableModel& model) {
      EXPECT_THAT(refusal(model), HasSubstr("of another shape: " + name + " (expected "));
    };
    EditableModel model = whole;
    Shape& shape = model.tensors.at(name).shape;
    std::reverse(shape.begin(), shape.end());
    if (shape == whole.tensors.at(name).shape) shape.push_back(1);
    expect_refused(model);
    const Shape right = whole.tensors.at(name).shape;
    // What a classifier's rows are, is the number of classes.
    for (std::size_t axis = name.ends_with("classifier.weight") ? 1 : 0; axis < right.size(); ++axis) {
      Shape larger = right;
      ++larger[axis];
      model.add(name, larger);
      expect_refused(model);
    }
  }
}

TEST_P(EveryTensor, MustHaveItsType) {
  for (const std::string& name : used()) {
    EditableModel model = whole;
    model.add(name, whole.tensors.at(name).shape, "I64");
    EXPECT_THAT(refusal(model), HasSubstr("of another type: " + name + " (expected F32"));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, EveryTensor, testing::ValuesIn(cases()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace vit::io
