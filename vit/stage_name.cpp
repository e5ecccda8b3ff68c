#include "vit/stage_name.hpp"

namespace vit {

std::string stage_name(Stage stage, std::int64_t block) {
  switch (stage) {
    case Stage::embeddings:
      return "hidden_states.0";
    case Stage::attention_probs:
      return "attentions." + std::to_string(block);
    case Stage::block:
      return "hidden_states." + std::to_string(block + 1);
    case Stage::last_hidden_state:
      return "last_hidden_state";
    case Stage::features:
      return "features";
    case Stage::logits:
      return "logits";
  }
  return "?";
}

}  // namespace vit
