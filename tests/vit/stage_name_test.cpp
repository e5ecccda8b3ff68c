#include "vit/stage_name.hpp"

#include <gtest/gtest.h>

namespace vit {
namespace {

TEST(StageName, IsWhatTheConformanceKitCallsIt) {
  EXPECT_EQ(stage_name(Stage::embeddings, -1), "hidden_states.0");
  EXPECT_EQ(stage_name(Stage::block, 0), "hidden_states.1");
  EXPECT_EQ(stage_name(Stage::block, 11), "hidden_states.12");
  EXPECT_EQ(stage_name(Stage::attention_probs, 0), "attentions.0");
  EXPECT_EQ(stage_name(Stage::last_hidden_state, -1), "last_hidden_state");
  EXPECT_EQ(stage_name(Stage::features, -1), "features");
  EXPECT_EQ(stage_name(Stage::logits, -1), "logits");
}

}  // namespace
}  // namespace vit
