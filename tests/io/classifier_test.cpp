#include "io/classifier.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/editable_model.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"
#include "vit/file.hpp"

namespace vit::io {
namespace {

using test::EditableModel;
using test::TempFolder;
using ::testing::HasSubstr;

const std::string kShipped = VITRINE_DATA "/models/fashion-mnist-vit";
const std::string kBoot = VITRINE_DATA "/images/fashion-mnist/0000-ankle-boot.png";
const std::string kTrouser = VITRINE_DATA "/images/fashion-mnist/0002-trouser.png";

std::vector<Input> inputs(const std::vector<std::string>& names) {
  std::vector<Input> list;
  for (const std::string& name : names) list.push_back({name, std::nullopt});
  return list;
}

std::vector<Answer> classify(const std::shared_ptr<const Classifier>& classifier,
                             const std::vector<std::string>& names) {
  return ClassifierSession(classifier).classify(inputs(names), 3, 1);
}

TEST(Classifier, AnswersInOrderAndFailsAlone) {
  const TempFolder folder;
  const auto classifier = std::make_shared<Classifier>(kShipped);
  const std::string text = folder.write("text.png", "no picture").native();
  const std::vector<Answer> answers = classify(classifier, {kBoot, text, "no such file", kTrouser});
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(classifier->info().labels.name(answers[0].predictions.at(0).index), "Ankle boot");
  EXPECT_EQ(answers[1].input, text);
  EXPECT_EQ(answers[1].error->code(), ErrorCode::image_unknown);
  EXPECT_EQ(answers[2].error->code(), ErrorCode::image_not_found);
  EXPECT_EQ(classifier->info().labels.name(answers[3].predictions.at(0).index), "Trouser");
  EXPECT_EQ(answers[3].predictions.size(), 3U);
}

TEST(Classifier, AnErrorThatCameWithTheInputIsItsAnswer) {
  const auto classifier = std::make_shared<Classifier>(kShipped);
  ClassifierSession session(classifier);
  const std::vector<Answer> answers =
      session.classify({{kBoot, Error(ErrorCode::no_input, "empty folder")}}, 1, 1);
  EXPECT_EQ(answers.at(0).error->code(), ErrorCode::no_input);
  EXPECT_TRUE(answers.at(0).predictions.empty());
  EXPECT_TRUE(session.classify({}, 1, 1).empty());
}

TEST(Classifier, MergesTokensWhereAsked) {
  const auto classifier = std::make_shared<Classifier>(kShipped);
  const auto score = [&](std::int64_t merge) {
    ClassifierSession session(classifier, {.merge = merge});
    const Answer answer = session.classify(inputs({kBoot}), 1, 1).at(0);
    EXPECT_EQ(classifier->info().labels.name(answer.predictions.at(0).index), "Ankle boot");
    return answer.predictions.at(0).score;
  };
  EXPECT_NE(score(0), score(3));
  EXPECT_ERROR(ClassifierSession(classifier, {.merge = -1}), ErrorCode::invalid_argument, "-1 tokens");
}

TEST(Classifier, AttachesWhatIsMadeOfAPicture) {
  const auto make = [](const ClassifiedPicture& picture, const Answer& answer) {
    EXPECT_EQ(picture.image.height, 28);
    EXPECT_EQ(answer.predictions.size(), 2U);
    if (answer.input == kTrouser) throw Error(ErrorCode::image_too_large, "no room");
    return Attachments{picture.bytes};
  };
  ClassifierSession session(std::make_shared<Classifier>(kShipped), {.attach = make});
  Input in_memory{"boot"};
  in_memory.bytes = read_file(kBoot, 1 << 20, FileErrors::image());
  const std::vector<Answer> answers =
      session.classify({in_memory, {kBoot}, {kTrouser}, {"no such file"}}, 2, 1);
  EXPECT_EQ(answers[0].attachments, Attachments{in_memory.bytes});
  EXPECT_EQ(answers[1].attachments, Attachments{{}});
  EXPECT_EQ(answers[2].error->code(), ErrorCode::image_too_large);
  EXPECT_TRUE(answers[2].predictions.empty());
  EXPECT_EQ(answers[3].error->code(), ErrorCode::image_not_found);
}

TEST(Classifier, TellsWhereTheTimeWent) {
  ClassifierSession session(std::make_shared<Classifier>(kShipped));
  session.classify(inputs({kBoot}), 1, 1);
  const StageTimes times = session.take_times();
  EXPECT_GT(times.decode, 0);
  EXPECT_GT(times.preprocess, 0);
  EXPECT_GT(times.network, 0);
  EXPECT_EQ(session.take_times().network, 0);
}

/// A model whose recipe leaves every picture its own size.
class AnySizeModel {
 public:
  AnySizeModel() {
    EditableModel model("hf_dinov2_larger");
    auto recipe = nlohmann::ordered_json::parse(model.recipe);
    recipe["do_resize"] = recipe["do_center_crop"] = false;
    model.recipe = recipe.dump();
    model.write(folder_);
    classifier_ = std::make_shared<Classifier>(folder_.path());
  }

  std::string picture(std::int64_t height, std::int64_t width) const {
    std::string content = "P6\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n";
    for (std::int64_t i = 0; i < 3 * height * width; ++i)
      content += static_cast<char>((i * 37 + height) % 251);
    return folder_.write(std::to_string(height) + "x" + std::to_string(width) + ".ppm", content).native();
  }
  const std::shared_ptr<const Classifier>& classifier() const { return classifier_; }

 private:
  TempFolder folder_;
  std::shared_ptr<const Classifier> classifier_;
};

TEST(Classifier, PicturesOfDifferentSizesGiveTheSameTogetherAsAlone) {
  const AnySizeModel model;
  // More sizes than a session keeps, each again later.
  std::vector<std::string> names;
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t side = 7; side < 7 * 9; side += 7) names.push_back(model.picture(side, 35));
    names.push_back(names.back());
  }
  const std::vector<Answer> together = classify(model.classifier(), names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Answer alone = classify(model.classifier(), {names[i]}).at(0);
    ASSERT_FALSE(together[i].error) << together[i].error->what();
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(together[i].predictions[k].index, alone.predictions[k].index) << names[i];
      EXPECT_NEAR(together[i].predictions[k].score, alone.predictions[k].score, 1e-6) << names[i];
    }
  }
}

TEST(Classifier, APictureSmallerThanAPatchFailsAlone) {
  const AnySizeModel model;
  const std::vector<Answer> answers =
      classify(model.classifier(), {model.picture(6, 40), model.picture(14, 14)});
  ASSERT_TRUE(answers[0].error);
  EXPECT_THAT(answers[0].error->what(), HasSubstr("6x40.ppm"));
  EXPECT_FALSE(answers[1].error);
}

TEST(Classifier, NaNWeightsAreAnErrorNotALabel) {
  EditableModel model("hf_vit_base");
  std::string& bytes = model.tensors.at("classifier.bias").bytes;
  bytes.replace(0, 4, std::string("\x00\x00\xc0\x7f", 4));
  const TempFolder folder;
  model.write(folder);
  const Answer answer = classify(std::make_shared<Classifier>(folder.path()), {kBoot}).at(0);
  ASSERT_TRUE(answer.error);
  EXPECT_EQ(answer.error->code(), ErrorCode::not_finite);
  EXPECT_THAT(answer.error->what(), HasSubstr(kBoot));
}

TEST(Classifier, RefusesABackbone) {
  EXPECT_ERROR(Classifier(EditableModel::folder_of("hf_dinov2_model")), ErrorCode::model_unsupported, "head");
}

}  // namespace
}  // namespace vit::io
