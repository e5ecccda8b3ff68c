#include "io/diagnosis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/editable_model.hpp"

namespace vit::io {
namespace {

using test::EditableModel;
using test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Warning> warnings(const EditableModel& model, const LoadOptions& options = {}) {
  const TempFolder folder;
  model.write(folder);
  return diagnose(load_checkpoint(folder.path(), options).info);
}

void expect_one(const std::vector<Warning>& warnings, const std::string& topic, const std::string& part) {
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].topic, topic);
  EXPECT_THAT(warnings[0].text, HasSubstr(part));
}

/// A model that nobody can say anything against.
EditableModel good() {
  EditableModel model("hf_vit_base");
  model.config["id2label"] = nlohmann::ordered_json::object();
  for (int i = 0; i < 7; ++i) model.config["id2label"][std::to_string(i)] = "class " + std::to_string(i);
  model.config.erase("label2id");
  return model;
}

EditableModel with_recipe(const std::string& key, const nlohmann::json& value) {
  EditableModel model = good();
  auto recipe = nlohmann::json::parse(model.recipe);
  recipe[key] = value;
  model.recipe = recipe.dump();
  return model;
}

TEST(Diagnosis, NothingWhereAllIsWell) {
  EXPECT_THAT(warnings(good()), IsEmpty());
  EXPECT_THAT(diagnose(load_checkpoint(VITRINE_DATA "/models/fashion-mnist-vit").info), IsEmpty());
}

TEST(Diagnosis, LabelsThatNobodyGave) {
  EditableModel model = good();
  model.config.erase("id2label");
  model.config["num_labels"] = 7;
  expect_one(warnings(model), "labels", "LABEL_0");
  const TempFolder folder;
  std::string names;
  for (int i = 0; i < 7; ++i) names += "name " + std::to_string(i) + "\n";
  EXPECT_THAT(warnings(model, {.labels = folder.write("labels.txt", names)}), IsEmpty());
}

TEST(Diagnosis, AHeadThatTheLabelsDoNotFit) {
  EditableModel model = good();
  model.config["id2label"].erase("5");
  model.config["id2label"].erase("6");
  expect_one(warnings(model), "labels", "2 of the 7 classes");
}

TEST(Diagnosis, NoRecipe) {
  EditableModel model = good();
  model.recipe.clear();
  expect_one(warnings(model), "recipe", "preprocessor_config.json: there is no such file");
}

TEST(Diagnosis, ARecipeThatIsTakenForWantOfOne) {
  const CheckpointInfo info = load_checkpoint(EditableModel::path_of("tv_vit_eps6")).info;
  bool found = false;
  for (const Warning& warning : diagnose(info))
    found |= warning.topic == "recipe" && warning.text.find("no file says") != std::string::npos;
  EXPECT_TRUE(found);
}

TEST(Diagnosis, PicturesThatAreNotNormalised) {
  expect_one(warnings(with_recipe("do_normalize", false)), "recipe", "not normalised");
  expect_one(warnings(with_recipe("do_rescale", false)), "recipe", "not scaled");
}

TEST(Diagnosis, InterpolatedPositions) {
  expect_one(warnings(good(), {.image_size = Size2{64, 48}}), "positions",
             "pictures of 64x48 pixels have 8x6 patches, positions are of 4x4");
  expect_one(warnings(with_recipe("do_resize", false)), "positions", "their own sizes");
}

TEST(Diagnosis, NoHead) {
  EditableModel model("hf_vit_model_pooler_relu");
  model.recipe = EditableModel("hf_vit_base").recipe;
  expect_one(warnings(model), "head", "no classification head");
}

TEST(Diagnosis, NoColours) {
  CheckpointInfo info = load_checkpoint(VITRINE_DATA "/models/fashion-mnist-vit").info;
  info.config.num_channels = 1;
  expect_one(diagnose(info), "channels", "takes 1 channels");
}

TEST(Diagnosis, TensorsOfSomethingElse) {
  EditableModel model = good();
  model.add("decoder.weight", {3, 3});
  expect_one(warnings(model), "tensors", "decoder.weight");
}

TEST(Diagnosis, APrecisionThatTheProcessorLacks) {
  CheckpointInfo info = load_checkpoint(VITRINE_DATA "/models/fashion-mnist-vit").info;
  info.precision = Precision::int8;
  const std::string shortage = processor_shortage(Precision::int8);
  if (shortage.empty()) {
    EXPECT_THAT(diagnose(info), IsEmpty());
  } else {
    expect_one(diagnose(info), "precision", shortage);
  }
}

}  // namespace
}  // namespace vit::io
