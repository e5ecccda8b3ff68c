// An observer that keeps what it is shown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vit/observer.hpp"

namespace vit::test {

struct RecordedStage {
  Stage stage;
  std::int64_t block;
  Shape shape;
  std::vector<float> values;

  ConstTensorView view() const { return {values.data(), shape}; }
};

class StageRecorder : public Observer {
 public:
  void on_stage(Stage stage, std::int64_t block, const ConstTensorView& tensor) override {
    stages.push_back({stage, block, tensor.shape, {tensor.data, tensor.data + tensor.size()}});
  }

  std::vector<RecordedStage> stages;  ///< in the order in which they came
};

inline std::string stage_name(Stage stage, std::int64_t block) {
  static constexpr const char* kNames[] = {"embeddings",        "attention_probs", "block",
                                           "last_hidden_state", "features",        "logits"};
  const std::string name = kNames[static_cast<std::size_t>(stage)];
  return block < 0 ? name : name + "." + std::to_string(block);
}

}  // namespace vit::test
