#include "vit/profile.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <string_view>
#include <thread>

#include "tests/vit/network_cases.hpp"
#include "vit/measure.hpp"
#include "vit/session.hpp"

namespace vit::test {
namespace {

TEST(LayerKinds, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const LayerKind kind : kAllLayerKinds) names.insert(to_string(kind));
  EXPECT_EQ(names.size(), kAllLayerKinds.size());
  EXPECT_FALSE(names.contains("?"));
}

TEST(Profile, GivesTheTimeOfALapToItsKindAlone) {
  constexpr std::chrono::milliseconds kNap(2);
  Profile profile;
  profile.start();
  std::this_thread::sleep_for(kNap);
  profile.lap(LayerKind::attn);
  EXPECT_GE(profile.seconds(LayerKind::attn), 0.002);
  EXPECT_EQ(profile.seconds(LayerKind::norm), 0);
  EXPECT_EQ(profile.total_seconds(), profile.seconds(LayerKind::attn));

  const double before = profile.total_seconds();
  std::this_thread::sleep_for(kNap);  // between two passes: nobody's
  profile.start();
  profile.lap(LayerKind::norm);
  EXPECT_EQ(profile.seconds(LayerKind::attn), before);
  EXPECT_EQ(profile.passes(), 2);
  profile.reset();
  EXPECT_EQ(profile.total_seconds(), 0);
  EXPECT_EQ(profile.passes(), 0);
}

class SessionProfile : public testing::TestWithParam<NetworkCase> {};

TEST_P(SessionProfile, SumsUpToTheForwardPass) {
  const NetworkCase& c = GetParam();
  Profile profile;
  Session session(make_model(c), {.batch = c.batch, .image_size = c.image, .profile = &profile});
  const Tensor pixels = pixel_values(c);
  session.forward(pixels.view());
  profile.reset();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i) session.forward(pixels.view());
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_EQ(profile.passes(), 3);
  EXPECT_LE(profile.total_seconds(), elapsed);
  for (const LayerKind kind : kAllLayerKinds) {
    if (forward_flops(c.config, c.image_size(), kind) == 0) continue;
    EXPECT_GT(profile.seconds(kind), 0) << to_string(kind);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SessionProfile,
                         testing::ValuesIn(network_cases({"small", "post_norm", "parallel", "twin",
                                                          "gated_mlp", "attention_pooling", "rotary"})),
                         testing::PrintToStringParamName());

TEST(SessionWithoutProfile, Runs) {
  const NetworkCase& c = network_case("small");
  Session session(make_model(c), {.batch = c.batch, .image_size = c.image});
  EXPECT_EQ(session.options().profile, nullptr);
  session.forward(pixel_values(c).view());
}

}  // namespace
}  // namespace vit::test
