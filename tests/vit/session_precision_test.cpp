// Whole networks in bf16 and int8: against the naive one in double precision, stage by stage, and against
// themselves with other batches, neighbours and threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>
#include <utility>
#include <vector>

#include "tests/support/compare.hpp"
#include "tests/vit/network_cases.hpp"
#include "tests/vit/stage_expectation.hpp"
#include "tests/vit/stage_recorder.hpp"
#include "vit/backend/precision_support.hpp"
#include "vit/session.hpp"

namespace vit::test {
namespace {

struct ReducedNetwork {
  NetworkCase network;
  Precision precision;
};

std::ostream& operator<<(std::ostream& out, const ReducedNetwork& c) {
  return out << c.network << "_in_" << to_string(c.precision);
}

std::vector<ReducedNetwork> in_both(const std::vector<NetworkCase>& networks) {
  std::vector<ReducedNetwork> all;
  for (const NetworkCase& network : networks)
    for (const Precision precision : {Precision::bf16, Precision::int8}) all.push_back({network, precision});
  return all;
}

class Reduced : public testing::TestWithParam<ReducedNetwork> {
 protected:
  void SetUp() override {
    if (!backend::has_precision(GetParam().precision))
      GTEST_SKIP() << "this processor has no " << to_string(GetParam().precision);
  }

  std::shared_ptr<const Model> model() const {
    auto made = make_model(GetParam().network, GetParam().precision);
    EXPECT_EQ(made->precision(), GetParam().precision) << made->precision_note();
    return made;
  }
};

/// The least of all rows.
double cosine(const std::vector<float>& got, const reference::Array& want) {
  double least = 1;
  const auto size = static_cast<std::size_t>(want.shape.back());
  for (std::size_t row = 0; row < got.size(); row += size) {
    double product = 0;
    double squares = 0;
    double wanted_squares = 0;
    for (std::size_t i = row; i < row + size; ++i) {
      const auto value = static_cast<double>(got[i]);
      product += value * want.values[i];
      squares += value * value;
      wanted_squares += want.values[i] * want.values[i];
    }
    least = std::min(least, product / std::sqrt(squares * wanted_squares));
  }
  return least;
}

// What is promised of real networks, of those here that rounding moves by so little; others, which double
// what goes wrong in every layer, are held to their own bound alone.
constexpr double kWellConditioned = 0.1;

double promised_cosine(Precision precision) {
  return precision == Precision::bf16 ? 0.999 : 0.995;
}

class ReducedStages : public Reduced {};

TEST_P(ReducedStages, AgreeWithTheReference) {
  const auto& [network, precision] = GetParam();
  const auto expected = expected_stages(network, precision);
  Session session(model(), {.batch = network.batch, .image_size = network.image, .attention_maps = true});
  StageRecorder recorder;
  session.forward(pixel_values(network).view(), &recorder);
  ASSERT_EQ(recorder.stages.size(), expected.size());
  double tightness = 0;  // largest share of its bound that an error takes
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const RecordedStage& got = recorder.stages[i];
    const std::string name = stage_name(expected[i].stage, expected[i].block);
    ASSERT_EQ(stage_name(got.stage, got.block), name);
    const Comparison result =
        compare(name, got.values, expected[i].values.values, got.shape, {expected[i].bound});
    EXPECT_TRUE(result) << result.problem;
    tightness = std::max(tightness, expected[i].bound > 0 ? result.error / expected[i].bound : 0);
    if (expected[i].stage != Stage::features || expected[i].bound > kWellConditioned) continue;
    EXPECT_GE(cosine(got.values, expected[i].values), promised_cosine(precision));
  }
  EXPECT_GT(tightness, 0.05) << "the bounds have become too loose to catch anything";
}

INSTANTIATE_TEST_SUITE_P(All, ReducedStages, testing::ValuesIn(in_both(network_cases())),
                         testing::PrintToStringParamName());

// A network that differs in what it computes must fall outside the bounds, or they prove nothing.
TEST(ReducedMistakes, FallOutsideTheBounds) {
  const std::pair<const char*, std::function<void(ModelConfig&)>> mistakes[] = {
      {"small", [](auto& m) { m.num_heads = 1; }},
      {"act_far_gelu_10", [](auto& m) { m.activation = Activation::gelu; }},
      {"act_far_relu6", [](auto& m) { m.activation = Activation::relu; }},
      {"qk_norm", [](auto& m) { m.qk_norm = false; }},
      {"pre_norm", [](auto& m) { m.pre_norm = false; }},
      {"rotary", [](auto& m) { m.rotary_layout = RotaryLayout::adjacent; }},
      {"post_norm", [](auto& m) { m.block = BlockForm::pre_norm; }}};
  for (const auto& [name, make] : mistakes) {
    const NetworkCase& c = network_case(name);
    ModelConfig wrong = c.config;
    make(wrong);
    const auto mistaken = stages_of(c, wrong);
    for (const Precision precision : {Precision::bf16, Precision::int8}) {
      const auto expected = expected_stages(c, precision);
      double excess = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        if (mistaken[i].values.shape != expected[i].values.shape) continue;  // maps of fewer heads
        excess = std::max(excess, distance(expected[i].values, mistaken[i].values) / expected[i].bound);
      }
      EXPECT_GT(excess, 2) << name << ", " << to_string(precision);
    }
  }
}

NetworkCase with_batch(NetworkCase c, std::int64_t batch) {
  c.batch = batch;
  return c;
}

std::vector<float> run(Session& session, const ConstTensorView& pixels) {
  const ConstTensorView& states = session.forward(pixels).last_hidden_state;
  return {states.data, states.data + states.size()};
}

/// Image `index` of so many.
std::vector<float> item(const std::vector<float>& all, std::size_t index, std::size_t count) {
  const auto size = static_cast<std::ptrdiff_t>(all.size() / count);
  const auto first = all.begin() + size * static_cast<std::ptrdiff_t>(index);
  return {first, first + size};
}

// Sums in f32 may be taken in another order for other shapes, and a last bit decides how a number is rounded
// for the next product: but here the order is the same, and so are the bits.
class ReducedInvariance : public Reduced {};

TEST_P(ReducedInvariance, BatchSize) {
  const NetworkCase c = with_batch(GetParam().network, 5);
  const auto shared = model();
  const Tensor pixels = pixel_values(c);
  Session together(shared, {.batch = 5, .image_size = c.image});
  Session alone(shared, {.batch = 1, .image_size = c.image});
  const std::vector<float> all = run(together, pixels.view());
  Shape one = pixels.shape();
  one[0] = 1;
  for (std::size_t i = 0; i < 5; ++i) {
    const float* const image = pixels.data() + static_cast<std::int64_t>(i) * pixels.size() / 5;
    EXPECT_EQ(item(all, i, 5), run(alone, {image, one})) << "image " << i;
  }
}

TEST_P(ReducedInvariance, NeighboursInTheBatch) {
  const NetworkCase c = with_batch(GetParam().network, 3);
  Session session(model(), {.batch = 3, .image_size = c.image});
  Tensor pixels = pixel_values(c);
  const std::vector<float> before = run(session, pixels.view());
  const std::int64_t size = pixels.size() / 3;
  std::fill_n(pixels.data(), size, std::nanf(""));
  std::fill_n(pixels.data() + 2 * size, size, 1e6F);
  const std::vector<float> after = run(session, pixels.view());
  EXPECT_EQ(item(before, 1, 3), item(after, 1, 3));
  for (const float value : item(after, 0, 3)) ASSERT_TRUE(std::isnan(value));
}

TEST_P(ReducedInvariance, Threads) {
  const NetworkCase c = with_batch(GetParam().network, 2);
  const auto shared = model();
  const Tensor pixels = pixel_values(c);
  Session one(shared, {.batch = 2, .image_size = c.image, .threads = 1});
  const std::vector<float> expected = run(one, pixels.view());
  for (const int threads : {2, 3}) {
    Session session(shared, {.batch = 2, .image_size = c.image, .threads = threads});
    EXPECT_EQ(run(session, pixels.view()), expected) << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReducedInvariance,
                         testing::ValuesIn(in_both(network_cases(
                             {"small", "5_heads_of_7", "6_heads_of_64", "several_tiles", "prime_width",
                              "positions_up", "registers_alone", "qk_norm", "gated_mlp", "attention_pooling",
                              "rotary", "relative_several_tiles", "post_norm"}))),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace vit::test
