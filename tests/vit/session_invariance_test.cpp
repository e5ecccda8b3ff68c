// What a result must not depend on: batch, neighbours, threads, who looks on, what ran before.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "tests/support/compare.hpp"
#include "tests/vit/network_cases.hpp"
#include "vit/session.hpp"

namespace vit::test {
namespace {

constexpr Bound kSame{1e-5};

NetworkCase with_batch(NetworkCase c, std::int64_t batch) {
  c.batch = batch;
  return c;
}

/// last_hidden_state, a copy.
Tensor run(Session& session, const ConstTensorView& pixels, Observer* observer = nullptr) {
  const ConstTensorView& states = session.forward(pixels, observer).last_hidden_state;
  Tensor copy(states.shape);
  std::copy_n(states.data, states.size(), copy.data());
  return copy;
}

ConstTensorView item(const ConstTensorView& batch, std::int64_t index) {
  Shape shape = batch.shape;
  const std::int64_t size = batch.size() / shape[0];
  shape[0] = 1;
  return {batch.data + index * size, shape};
}

bool same_bits(const ConstTensorView& a, const ConstTensorView& b) {
  return a.shape == b.shape && std::equal(a.data, a.data + a.size(), b.data);
}

class SessionInvariance : public testing::TestWithParam<NetworkCase> {};

TEST_P(SessionInvariance, BatchSize) {
  const NetworkCase c = with_batch(GetParam(), 5);
  const auto model = make_model(c);
  const Tensor pixels = pixel_values(c);
  Session together(model, {.batch = 5, .image_size = c.image});
  Session alone(model, {.batch = 1, .image_size = c.image});
  const Tensor all = run(together, pixels.view());
  for (std::int64_t i = 0; i < 5; ++i) {
    const Tensor one = run(alone, item(pixels.view(), i));
    EXPECT_TRUE(matches("image " + std::to_string(i), item(all.view(), i), one.view(), kSame));
  }
}

TEST_P(SessionInvariance, NeighboursInTheBatch) {
  const NetworkCase c = with_batch(GetParam(), 3);
  Session session(make_model(c), {.batch = 3, .image_size = c.image});
  Tensor pixels = pixel_values(c);
  const Tensor before = run(session, pixels.view());
  const std::int64_t size = pixels.size() / 3;
  std::fill_n(pixels.data(), size, std::nanf(""));
  std::fill_n(pixels.data() + 2 * size, size, 1e6F);
  const Tensor after = run(session, pixels.view());
  EXPECT_TRUE(matches("the image between", item(after.view(), 1), item(before.view(), 1), kSame));
}

TEST_P(SessionInvariance, Threads) {
  const NetworkCase c = with_batch(GetParam(), 2);
  const auto model = make_model(c);
  const Tensor pixels = pixel_values(c);
  Session one(model, {.batch = 2, .image_size = c.image, .threads = 1});
  const Tensor expected = run(one, pixels.view());
  for (const int threads : {2, 3}) {
    Session session(model, {.batch = 2, .image_size = c.image, .threads = threads});
    const Tensor got = run(session, pixels.view());
    EXPECT_TRUE(matches(std::to_string(threads) + " threads", got.view(), expected.view(), kSame));
  }
}

TEST_P(SessionInvariance, AttentionMaps) {
  const NetworkCase c = with_batch(GetParam(), 2);
  const auto model = make_model(c);
  const Tensor pixels = pixel_values(c);
  Session tiled(model, {.batch = 2, .image_size = c.image});
  Session whole(model, {.batch = 2, .image_size = c.image, .attention_maps = true});
  const Tensor got = run(whole, pixels.view());
  EXPECT_TRUE(matches("with maps", got.view(), run(tiled, pixels.view()).view(), kSame));
}

class Onlooker : public Observer {
 public:
  void on_stage(Stage, std::int64_t, const ConstTensorView&) override {}
};

TEST_P(SessionInvariance, WhatRanBeforeAndWhoLooksOn) {
  const NetworkCase& c = GetParam();
  Session session(make_model(c), {.batch = c.batch, .image_size = c.image});
  const Tensor pixels = pixel_values(c, 2);
  const Tensor others = pixel_values(c, 3);
  const Tensor first = run(session, pixels.view());
  const Tensor between = run(session, others.view());
  Onlooker onlooker;
  const Tensor again = run(session, pixels.view(), &onlooker);
  EXPECT_TRUE(same_bits(first.view(), again.view()));
  EXPECT_FALSE(same_bits(first.view(), between.view()));
}

INSTANTIATE_TEST_SUITE_P(
    All, SessionInvariance,
    testing::ValuesIn(network_cases({"small", "5_heads_of_7", "6_heads_of_64", "several_tiles", "prime_width",
                                     "positions_up", "registers_alone", "qk_norm", "gated_mlp",
                                     "attention_pooling", "rotary", "relative_several_tiles"})),
    testing::PrintToStringParamName());

TEST(SessionSharing, TwoThreadsOnOneModel) {
  const NetworkCase& c = network_case("6_heads_of_64");
  const auto model = make_model(c);
  Session session(model);
  const Tensor pixels[2] = {pixel_values(c, 2), pixel_values(c, 3)};
  const Tensor expected[2] = {run(session, pixels[0].view()), run(session, pixels[1].view())};
  int wrong[2] = {0, 0};
  const auto work = [&](std::size_t i) {
    Session mine(model);
    for (int repeat = 0; repeat < 10; ++repeat) {
      if (!same_bits(run(mine, pixels[i].view()).view(), expected[i].view())) ++wrong[i];
    }
  };
  std::thread other(work, 1U);
  work(0);
  other.join();
  EXPECT_EQ(wrong[0], 0);
  EXPECT_EQ(wrong[1], 0);
}

TEST(SessionSharing, BuiltInOneThreadRunInAnother) {
  const NetworkCase& c = network_case("small");
  Session session(make_model(c), {.threads = 2});
  const Tensor pixels = pixel_values(c);
  const Tensor here = run(session, pixels.view());
  Tensor there;
  std::thread([&] { there = run(session, pixels.view()); }).join();
  EXPECT_TRUE(same_bits(here.view(), there.view()));
}

TEST(SessionSharing, InsideAParallelRegionOfTheHost) {
  const NetworkCase& c = network_case("6_heads_of_64");
  const auto model = make_model(c);
  const Tensor pixels = pixel_values(c);
  Session session(model);
  const Tensor expected = run(session, pixels.view());
  Tensor got[2];
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < 2; ++i) {
    Session mine(model, {.threads = 2});
    got[i] = run(mine, pixels.view());
  }
  EXPECT_TRUE(matches("first", got[0].view(), expected.view(), kSame));
  EXPECT_TRUE(matches("second", got[1].view(), expected.view(), kSame));
}

class Thrower : public Observer {
 public:
  void on_stage(Stage stage, std::int64_t, const ConstTensorView&) override {
    if (stage == Stage::block) throw std::runtime_error("enough");
  }
};

TEST(SessionSharing, TheHostsThreadCountSurvives) {
  const int before = omp_get_max_threads();
  const NetworkCase& c = network_case("small");
  const Tensor pixels = pixel_values(c);
  for (const int hosts : {1, 3}) {
    omp_set_num_threads(hosts);
    const auto model = make_model(c);
    EXPECT_EQ(omp_get_max_threads(), hosts) << "after Model()";
    Session session(model, {.threads = 2});
    EXPECT_EQ(omp_get_max_threads(), hosts) << "after Session()";
    const Tensor first = run(session, pixels.view());
    EXPECT_EQ(omp_get_max_threads(), hosts) << "after forward()";
    Thrower thrower;
    EXPECT_THROW(session.forward(pixels.view(), &thrower), std::runtime_error);
    EXPECT_EQ(omp_get_max_threads(), hosts) << "after an observer threw";
    EXPECT_TRUE(same_bits(run(session, pixels.view()).view(), first.view()));
  }
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace vit::test
