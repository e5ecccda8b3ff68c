// Whole checkpoints against what the reference's code computes from them, stage by stage.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "io/checkpoint.hpp"
#include "io/safetensors.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/editable_model.hpp"
#include "tests/vit/stage_recorder.hpp"
#include "vit/session.hpp"

namespace vit::test {
namespace {

namespace fs = std::filesystem;

/// transformers' name of a stage: hidden_states.0 goes into the first block, hidden_states.i comes out of
/// block i − 1.
std::string reference_name(const RecordedStage& stage, bool has_head) {
  switch (stage.stage) {
    case Stage::embeddings:
      return "hidden_states.0";
    case Stage::attention_probs:
      return "attentions." + std::to_string(stage.block);
    case Stage::block:
      return "hidden_states." + std::to_string(stage.block + 1);
    case Stage::features:
      return has_head ? "features" : "pooler_output";
    case Stage::last_hidden_state:
    case Stage::logits:
      break;
  }
  return stage_name(stage.stage, -1);
}

struct GoldenModel {
  fs::path folder;
};

std::ostream& operator<<(std::ostream& out, const GoldenModel& model) {
  return out << model.folder.filename().string();
}

std::vector<GoldenModel> golden_models() {
  std::vector<GoldenModel> models;
  for (const auto& entry : fs::directory_iterator(VITRINE_TEST_DATA "/models")) {
    if (fs::exists(entry.path() / "expected.safetensors")) models.push_back({entry.path()});
  }
  std::sort(models.begin(), models.end(), [](const auto& a, const auto& b) { return a.folder < b.folder; });
  return models;
}

class NetworkGolden : public testing::TestWithParam<GoldenModel> {};

TEST_P(NetworkGolden, EveryStoredStage) {
  const io::SafetensorsFile expected(GetParam().folder / "expected.safetensors");
  io::Checkpoint checkpoint = io::load_checkpoint(EditableModel::path_of(GetParam().folder.filename()));
  const ModelConfig config = checkpoint.info.config;
  const auto model = std::make_shared<const Model>(config, std::move(checkpoint.weights));
  const Tensor pixels = expected.read("pixel_values");
  const Size2 image{pixels.shape()[2], pixels.shape()[3]};
  Session session(model, {.batch = pixels.shape()[0], .image_size = image, .attention_maps = true});
  StageRecorder recorder;
  const Outputs& outputs = session.forward(pixels.view(), &recorder);

  std::size_t compared = 0;
  for (const RecordedStage& stage : recorder.stages) {
    const std::string name = reference_name(stage, config.num_classes > 0);
    if (expected.find(name) == nullptr) continue;  // attentions are stored for two models
    EXPECT_TRUE(matches(name, stage.view(), expected.read(name).view(), {1e-5}));
    ++compared;
  }
  for (const auto& [name, view] : {std::pair("features_distillation", &outputs.distillation_features),
                                   std::pair("cls_logits", &outputs.cls_logits),
                                   std::pair("distillation_logits", &outputs.distillation_logits)}) {
    if (expected.find(name) == nullptr) continue;
    EXPECT_TRUE(matches(name, *view, expected.read(name).view(), {1e-5}));
    ++compared;
  }
  // What is stored besides: the pixels, and the picture's pixels and logits.
  const auto stored = static_cast<std::size_t>(
      std::count_if(expected.tensors().begin(), expected.tensors().end(), [](const io::StoredTensor& tensor) {
        return tensor.name.find("pixel_values") == tensor.name.npos && !tensor.name.starts_with("image");
      }));
  EXPECT_EQ(compared, stored) << "a stored stage was not compared";
}

INSTANTIATE_TEST_SUITE_P(All, NetworkGolden, testing::ValuesIn(golden_models()),
                         testing::PrintToStringParamName());

TEST(NetworkGoldenModels, AreThere) {
  EXPECT_GE(golden_models().size(), 20U);
}

}  // namespace
}  // namespace vit::test
