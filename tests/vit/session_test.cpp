// The network against the naive one in double precision, stage by stage.
#include "vit/session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <ostream>

#include "tests/support/compare.hpp"
#include "tests/vit/merging_cases.hpp"
#include "tests/vit/network_cases.hpp"
#include "tests/vit/stage_expectation.hpp"
#include "tests/vit/stage_recorder.hpp"

namespace vit::test {
namespace {

constexpr double kPromised = 1e-5;  // of the largest magnitude, whatever a derived bound would allow

/// With attention maps, unless tokens are merged.
std::vector<RecordedStage> observed(const NetworkCase& c) {
  Session session(
      make_model(c),
      {.batch = c.batch, .image_size = c.image, .attention_maps = c.merge == 0, .merge = c.merge});
  StageRecorder recorder;
  session.forward(pixel_values(c).view(), &recorder);
  return recorder.stages;
}

class SessionStages : public testing::TestWithParam<NetworkCase> {};

TEST_P(SessionStages, AgreeWithTheReference) {
  const NetworkCase& c = GetParam();
  auto expected = expected_stages(c);
  if (c.merge > 0)
    std::erase_if(expected, [](const auto& stage) { return stage.stage == Stage::attention_probs; });
  const auto got = observed(c);
  ASSERT_EQ(got.size(), expected.size());
  double tightness = 0;  // largest share of its bound that an error takes
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::string name = stage_name(expected[i].stage, expected[i].block);
    ASSERT_EQ(stage_name(got[i].stage, got[i].block), name);
    ASSERT_EQ(got[i].shape, expected[i].values.shape) << name;
    const Bound bound{std::min(expected[i].bound, kPromised)};
    const Comparison result = compare(name, got[i].values, expected[i].values.values, got[i].shape, bound);
    EXPECT_TRUE(result) << result.problem;
    tightness = std::max(tightness, result.error / bound.upper);
  }
  EXPECT_GT(tightness, 0.02) << "the bounds have become too loose to catch anything";
}

INSTANTIATE_TEST_SUITE_P(All, SessionStages, testing::ValuesIn(network_cases()),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Merging, SessionStages, testing::ValuesIn(merging_cases()),
                         testing::PrintToStringParamName());

/// A network that differs in one detail must fall outside the bounds, or they prove nothing.
struct Mistake {
  std::string name;
  std::string network_case;
  std::function<void(ModelConfig&)> make;
};

std::ostream& operator<<(std::ostream& out, const Mistake& mistake) {
  return out << mistake.name;
}

class SessionMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(SessionMistakes, FallOutsideTheBounds) {
  const NetworkCase& c = network_case(GetParam().network_case);
  ModelConfig wrong = c.config;
  GetParam().make(wrong);
  const auto expected = expected_stages(c);
  const auto mistaken = stages_of(c, wrong);
  ASSERT_EQ(mistaken.size(), expected.size());
  double excess = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (mistaken[i].values.shape != expected[i].values.shape) continue;  // maps of fewer heads
    const double bound = std::min(expected[i].bound, kPromised);
    excess = std::max(excess, distance(expected[i].values, mistaken[i].values) / bound);
  }
  EXPECT_GT(excess, 5);
}

const std::vector<Mistake> kMistakes{
    {"tanh_form_for_gelu", "small", [](auto& m) { m.activation = Activation::gelu_tanh; }},
    {"gelu_for_its_tanh_form", "act_gelu_tanh", [](auto& m) { m.activation = Activation::gelu; }},
    {"gelu_for_gelu_10", "act_far_gelu_10", [](auto& m) { m.activation = Activation::gelu; }},
    {"relu_for_leaky_relu", "act_leaky_relu", [](auto& m) { m.activation = Activation::relu; }},
    {"relu_for_relu6", "act_far_relu6", [](auto& m) { m.activation = Activation::relu; }},
    {"elu_for_selu", "act_selu", [](auto& m) { m.activation = Activation::elu; }},
    {"silu_for_mish", "act_mish", [](auto& m) { m.activation = Activation::silu; }},
    {"silu_for_hard_swish", "act_hard_swish", [](auto& m) { m.activation = Activation::silu; }},
    {"hard_swish_for_hard_mish", "act_hard_mish", [](auto& m) { m.activation = Activation::hard_swish; }},
    {"sigmoid_for_hard_sigmoid", "act_gated_hard_sigmoid",
     [](auto& m) { m.activation = Activation::sigmoid; }},
    {"sigmoid_for_laplace", "act_laplace", [](auto& m) { m.activation = Activation::sigmoid; }},
    {"mean_for_max", "pooling_max", [](auto& m) { m.pooling = Pooling::mean; }},
    {"max_for_mean_max", "pooling_mean_max", [](auto& m) { m.pooling = Pooling::max; }},
    {"max_without_the_prefix", "pooling_max_of_all_tokens", [](auto& m) { m.pool_prefix = false; }},
    {"silu_for_quick_gelu", "act_quick_gelu", [](auto& m) { m.activation = Activation::silu; }},
    {"eps_1e-5_for_1e-6", "eps_of_the_variance", [](auto& m) { m.layer_norm_eps = 1e-5F; }},
    {"eps_1e-6_for_1e-12", "variance_tiny_eps_tinier", [](auto& m) { m.layer_norm_eps = 1e-6F; }},
    {"eps_0_for_0.1", "eps_big", [](auto& m) { m.layer_norm_eps = 0; }},
    {"3_heads_for_1", "small", [](auto& m) { m.num_heads = 1; }},
    {"no_antialias_behind_registers", "registers_without_positions",
     [](auto& m) { m.position_resampling = PositionResampling::bicubic; }},
    {"no_antialias", "antialias_down", [](auto& m) { m.position_resampling = PositionResampling::bicubic; }},
    {"antialias", "positions_down",
     [](auto& m) { m.position_resampling = PositionResampling::bicubic_antialias; }},
    {"q_and_k_as_they_are", "qk_norm", [](auto& m) { m.qk_norm = false; }},
    {"no_norm_before_the_blocks", "pre_norm", [](auto& m) { m.pre_norm = false; }},
    {"adjacent_pairs_for_halves", "rotary", [](auto& m) { m.rotary_layout = RotaryLayout::adjacent; }},
    {"halves_for_adjacent_pairs", "rotary_adjacent", [](auto& m) { m.rotary_layout = RotaryLayout::halves; }},
    {"theta_9900_for_10000", "rotary_adjacent", [](auto& m) { m.rotary_theta = 9900; }},
    {"its_own_grid_for_another", "rotary_adjacent", [](auto& m) { m.rotary_grid = {}; }},
    {"counted_from_0", "rotary_adjacent", [](auto& m) { m.rotary_offset = 0; }},
    {"rows_first", "rotary_adjacent", [](auto& m) { m.rotary_order = RotaryOrder::rows_first; }},
    {"no_norm_in_the_mlp", "inner_norms", [](auto& m) { m.mlp_norm = false; }},
    {"no_norm_behind_attention", "inner_norms", [](auto& m) { m.attn_norm = false; }},
    {"one_head_for_two", "distillation_head", [](auto& m) { m.distillation = Distillation::token; }},
    {"eps_1e-3_for_1e-2_of_rms_norms", "rms_norm_no_biases", [](auto& m) { m.layer_norm_eps = 1e-3F; }},
    {"no_norm_of_the_patches", "embed_norm", [](auto& m) { m.embed_norm = false; }},
    {"norms_in_front_for_those_behind", "post_norm", [](auto& m) { m.block = BlockForm::pre_norm; }},
    {"rows_first_for_mixed", "rotary_mixed", [](auto& m) { m.rotary_order = RotaryOrder::rows_first; }},
    {"bilinear_for_geometric", "relative_geometric_up",
     [](auto& m) { m.relative_resampling = RelativeResampling::bilinear; }},
    {"no_prefix_tokens_in_the_mean", "mean_of_all_tokens", [](auto& m) { m.pool_prefix = false; }},
    {"h_heads_in_the_pool", "attention_pooling_of_all_tokens", [](auto& m) { m.attn_pool_heads = 0; }},
    {"tanh_for_relu_in_the_pooler", "pooler_relu", [](auto& m) { m.pooler_activation = Activation::tanh; }},
};

INSTANTIATE_TEST_SUITE_P(All, SessionMistakes, testing::ValuesIn(kMistakes),
                         [](const testing::TestParamInfo<Mistake>& param) {
                           std::string name = param.param.name;
                           std::replace_if(
                               name.begin(), name.end(), [](char x) { return x == '-' || x == '.'; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace vit::test
