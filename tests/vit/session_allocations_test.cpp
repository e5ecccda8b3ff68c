// A program of its own, because it replaces operator new.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/alloc_counter.hpp"
#include "tests/vit/merging_cases.hpp"
#include "vit/backend/precision_support.hpp"
#include "vit/session.hpp"

namespace vit::test {
namespace {

class Reader : public Observer {
 public:
  void on_stage(Stage, std::int64_t, const ConstTensorView& tensor) override { sum += tensor.data[0]; }

  float sum = 0;
};

class Allocator : public Observer {
 public:
  void on_stage(Stage, std::int64_t, const ConstTensorView& tensor) override {
    kept.assign(tensor.data, tensor.data + 1);
    kept.shrink_to_fit();
    kept = {};
  }

  std::vector<float> kept;
};

class SessionAllocations : public testing::TestWithParam<NetworkCase> {
 protected:
  const NetworkCase& network = GetParam();
  Session session{make_model(network), {.batch = network.batch, .image_size = network.image}};
  Tensor pixels = pixel_values(network);
  ConstTensorView view = pixels.view();
};

TEST_P(SessionAllocations, TheSecondForwardMakesNone) {
  Reader reader;
  session.forward(view, &reader);
  const AllocationCount count;
  session.forward(view, &reader);
  session.forward(view);
  EXPECT_EQ(count.ours(), 0U);
}

TEST_P(SessionAllocations, AProfileMakesNone) {
  Profile profile;
  Session profiled(make_model(network),
                   {.batch = network.batch, .image_size = network.image, .profile = &profile});
  profiled.forward(view);
  const AllocationCount count;
  profiled.forward(view);
  EXPECT_EQ(count.ours(), 0U);
}

TEST_P(SessionAllocations, OneThatIsPlantedIsSeen) {
  Allocator allocator;
  session.forward(view);
  const AllocationCount count;
  session.forward(view, &allocator);
  EXPECT_GT(count.ours(), 0U);
}

TEST_P(SessionAllocations, TheSecondForwardMakesNoneInReducedPrecision) {
  for (const Precision precision : {Precision::bf16, Precision::int8}) {
    if (!backend::has_precision(precision)) continue;
    const auto model = make_model(network, precision);
    ASSERT_EQ(model->precision(), precision) << model->precision_note();
    Session reduced(model, {.batch = network.batch, .image_size = network.image});
    reduced.forward(view);
    const AllocationCount count;
    reduced.forward(view);
    EXPECT_EQ(count.ours(), 0U) << to_string(precision);
  }
}

std::size_t allocations_of_second_forward(Session& session, const NetworkCase& c) {
  const Tensor pixels = pixel_values(c);
  const ConstTensorView view = pixels.view();
  Reader reader;
  session.forward(view, &reader);
  const AllocationCount count;
  session.forward(view, &reader);
  return count.ours();
}

class SessionAllocationsOfMerging : public testing::TestWithParam<NetworkCase> {};

TEST_P(SessionAllocationsOfMerging, TheSecondForwardMakesNone) {
  const NetworkCase& c = GetParam();
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::int8}) {
    if (!backend::has_precision(precision)) continue;
    for (const int threads : {1, 2}) {
      Session session(make_model(c, precision),
                      {.batch = c.batch, .image_size = c.image, .threads = threads, .merge = c.merge});
      EXPECT_EQ(allocations_of_second_forward(session, c), 0U)
          << to_string(precision) << ", threads " << threads;
    }
  }
}

class SessionAllocationsWithMaps : public testing::TestWithParam<Precision> {};

TEST_P(SessionAllocationsWithMaps, TheSecondForwardMakesNone) {
  if (!backend::has_precision(GetParam())) GTEST_SKIP() << "this processor has no " << to_string(GetParam());
  const NetworkCase& c = network_case("batch_3");
  Session session(make_model(c, GetParam()), {.batch = 3, .attention_maps = true});
  EXPECT_EQ(allocations_of_second_forward(session, c), 0U);
}

INSTANTIATE_TEST_SUITE_P(All, SessionAllocations,
                         testing::ValuesIn(network_cases({"small",
                                                          "5_heads_of_7",
                                                          "several_tiles",
                                                          "pooler",
                                                          "positions_up",
                                                          "cls_and_mean",
                                                          "layer_scale",
                                                          "registers",
                                                          "distillation_head",
                                                          "qk_norm",
                                                          "pre_norm",
                                                          "mean_normed_after",
                                                          "gated_mlp",
                                                          "attention_pooling",
                                                          "rotary",
                                                          "relative_shared",
                                                          "inner_norms",
                                                          "act_gated_laplace",
                                                          "act_mish",
                                                          "post_norm",
                                                          "differential",
                                                          "twin_gated_rotary"})),
                         testing::PrintToStringParamName());

INSTANTIATE_TEST_SUITE_P(All, SessionAllocationsOfMerging, testing::ValuesIn(merging_cases()),
                         testing::PrintToStringParamName());

INSTANTIATE_TEST_SUITE_P(All, SessionAllocationsWithMaps,
                         testing::Values(Precision::fp32, Precision::bf16, Precision::int8),
                         [](const auto& param) { return std::string(to_string(param.param)); });

}  // namespace
}  // namespace vit::test
