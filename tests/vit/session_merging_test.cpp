// Networks whose blocks merge tokens: what they must not depend on, and what is refused. session_test.cpp
// compares them with the naive ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/compare.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/vit/merging_cases.hpp"
#include "tests/vit/stage_recorder.hpp"
#include "vit/backend/precision_support.hpp"
#include "vit/session.hpp"
#include "vit/token_counts.hpp"

namespace vit::test {
namespace {

constexpr double kPromised = 1e-5;

SessionOptions options_of(const NetworkCase& c) {
  return {.batch = c.batch, .image_size = c.image, .merge = c.merge};
}

/// last_hidden_state, a copy.
Tensor run(Session& session, const ConstTensorView& pixels) {
  const ConstTensorView& states = session.forward(pixels).last_hidden_state;
  Tensor copy(states.shape);
  std::copy_n(states.data, states.size(), copy.data());
  return copy;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::equal(a.data(), a.data() + a.size(), b.data());
}

class SessionMerging : public testing::TestWithParam<NetworkCase> {
 protected:
  const NetworkCase& c = GetParam();
  const std::shared_ptr<const Model> model = make_model(c);
  const Tensor pixels = pixel_values(c);
};

// A pass begins with all tokens, whatever memory the one before it ended in.
TEST_P(SessionMerging, GivesTheSameAgain) {
  Session session(model, options_of(c));
  const Tensor first = run(session, pixels.view());
  EXPECT_TRUE(same_bits(run(session, pixels.view()), first));
}

TEST_P(SessionMerging, TokensAreAsManyAsTokenCountsSays) {
  const std::vector<std::int64_t> counts = token_counts(c.config, c.image_size(), c.merge);
  Session session(model, options_of(c));
  StageRecorder recorder;
  const Outputs& outputs = session.forward(pixels.view(), &recorder);
  EXPECT_EQ(outputs.last_hidden_state.shape, (Shape{c.batch, counts.back(), c.config.hidden_size}));
  EXPECT_LT(counts.back(), counts.front());
  std::size_t block = 0;
  for (const RecordedStage& stage : recorder.stages) {
    if (stage.stage == Stage::embeddings || stage.stage == Stage::block) {
      EXPECT_EQ(stage.shape[1], counts.at(block++));
    }
  }
  EXPECT_EQ(block, counts.size());
}

TEST_P(SessionMerging, DoesNotDependOnBatchAndThreads) {
  Session together(model, options_of(c));
  const Tensor all = run(together, pixels.view());
  SessionOptions alone = options_of(c);
  alone.batch = 1;
  for (const int threads : {1, 2, 3}) {
    alone.threads = threads;
    Session session(model, alone);
    Shape shape = pixels.shape();
    shape[0] = 1;
    const std::int64_t size = pixels.size() / c.batch;
    for (std::int64_t i = 0; i < c.batch; ++i) {
      const Tensor one = run(session, {pixels.data() + i * size, shape});
      const ConstTensorView same{all.data() + i * one.size(), one.shape()};
      EXPECT_TRUE(matches("image " + std::to_string(i), one.view(), same, {kPromised})) << threads;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SessionMerging, testing::ValuesIn(merging_cases()),
                         testing::PrintToStringParamName());

TEST(SessionMergingOff, IsTheSameToTheBit) {
  for (const char* name :
       {"small", "registers", "attention_pooling", "mean_normed_after", "relative_shared"}) {
    const NetworkCase& c = network_case(name);
    const auto model = make_model(c);
    const Tensor pixels = pixel_values(c);
    Session plain(model, {.batch = c.batch, .image_size = c.image});
    Session off(model, {.batch = c.batch, .image_size = c.image, .merge = 0});
    EXPECT_TRUE(same_bits(run(plain, pixels.view()), run(off, pixels.view()))) << name;
  }
}

/// Pictures of two kinds of patches, which know nothing of their places: equal tokens that go on as one
/// change nothing, if its size counts in attention and in what pools it.
class SessionMergingOfEqualTokens : public testing::TestWithParam<Pooling> {};

TEST_P(SessionMergingOfEqualTokens, ChangesNothing) {
  NetworkCase c = merging_case("small_merge_8");
  c.config.position_embedding = PositionEmbedding::none;
  c.config.pooling = GetParam();
  const auto model = make_model(c);
  Tensor pixels = pixel_values(c);  // [2, 3, 56, 64]
  for (std::int64_t i = 0; i < pixels.size(); ++i) {
    const std::int64_t image = i / (56 * 64) / 3;
    const bool first_kind = i % 64 / 8 < 2 + image;  // the first two or three of eight columns of patches
    pixels.data()[i] = first_kind ? 1.0F : -0.5F + 0.3F * static_cast<float>(i / (56 * 64) % 3);
  }
  Session whole(model, {.batch = 2});
  Session merged(model, options_of(c));
  const ConstTensorView expected = whole.forward(pixels.view()).features;
  const ConstTensorView got = merged.forward(pixels.view()).features;
  EXPECT_TRUE(matches("features", got, expected, {kPromised}));
}

INSTANTIATE_TEST_SUITE_P(All, SessionMergingOfEqualTokens,
                         testing::Values(Pooling::cls, Pooling::mean, Pooling::cls_and_mean,
                                         Pooling::mean_max, Pooling::attention),
                         [](const auto& param) { return std::string(to_string(param.param)); });

class SessionMergingReduced : public testing::TestWithParam<Precision> {};

// Which tokens are alike may change with the rounding, so that only what must hold of any choice is looked
// at.
TEST_P(SessionMergingReduced, RunsAndDoesNotDependOnThreads) {
  if (!backend::has_precision(GetParam())) GTEST_SKIP() << "this processor has no " << to_string(GetParam());
  for (const char* name : {"6_heads_of_64_merge_9", "registers_merge_8", "qk_norm_merge_8",
                           "gated_mlp_merge_8", "attention_pooling_merge_8"}) {
    const NetworkCase& c = merging_case(name);
    const auto model = make_model(c, GetParam());
    ASSERT_EQ(model->precision(), GetParam()) << model->precision_note();
    const Tensor pixels = pixel_values(c);
    SessionOptions options = options_of(c);
    options.threads = 1;
    Session one(model, options);
    options.threads = 2;
    Session two(model, options);
    const Tensor expected = run(one, pixels.view());
    for (const float value : expected.elements()) ASSERT_TRUE(std::isfinite(value)) << name;
    EXPECT_TRUE(same_bits(run(two, pixels.view()), expected)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, SessionMergingReduced, testing::Values(Precision::bf16, Precision::int8),
                         [](const auto& param) { return std::string(to_string(param.param)); });

TEST(SessionMergingErrors, SayWhatCannotBe) {
  const auto refuse = [](const char* name, const std::string& word, const SessionOptions& options) {
    const auto model = make_model(network_case(name));
    EXPECT_ERROR(Session(model, options), ErrorCode::invalid_argument, word);
  };
  refuse("small", "-1 tokens", {.merge = -1});
  refuse("small", "attention maps", {.attention_maps = true, .merge = 2});
  refuse("rotary", "rotary positions", {.merge = 2});
  refuse("relative_per_block", "relative positions", {.merge = 2});
  refuse("differential", "differential", {.merge = 2});
}

// A network of one patch has nothing to merge.
TEST(SessionMergingErrors, NothingToMergeIsNone) {
  const NetworkCase& c = network_case("one_patch");
  const auto model = make_model(c);
  const Tensor pixels = pixel_values(c);
  Session plain(model);
  Session merged(model, {.merge = 8});
  EXPECT_TRUE(same_bits(run(plain, pixels.view()), run(merged, pixels.view())));
}

}  // namespace
}  // namespace vit::test
