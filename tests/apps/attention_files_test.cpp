#include "apps/attention_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "tests/support/expect_error.hpp"

namespace vit::apps {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

ModelConfig config(std::int64_t layers = 12, std::int64_t heads = 3) {
  ModelConfig config;
  config.num_layers = layers;
  config.num_heads = heads;
  return config;
}

std::vector<std::string> names(const AttentionRequest& request, const ModelConfig& model = config()) {
  std::vector<std::string> names;
  for (const AttentionFile& file : plan_files(request, model)) names.push_back(file.suffix);
  return names;
}

TEST(PlanFiles, TheMeanOfTheLastBlockUnlessAskedForMore) {
  EXPECT_THAT(names({}), ElementsAre("block11.mean.png"));
  EXPECT_THAT(names({.block = "3"}), ElementsAre("block03.mean.png"));
  EXPECT_THAT(names({.block = "0", .head = "2"}, config(10, 11)), ElementsAre("block0.head02.png"));
  EXPECT_THAT(names({.head = "all"}),
              ElementsAre("block11.head0.png", "block11.head1.png", "block11.head2.png"));
  EXPECT_THAT(names({.block = "all"}, config(2)), ElementsAre("block0.mean.png", "block1.mean.png"));
  EXPECT_THAT(names({.block = "all", .head = "all"}), SizeIs(36));
  EXPECT_THAT(names({.rollout = true}), ElementsAre("rollout.png"));
}

TEST(PlanFiles, SheetsShowWhatIsAll) {
  EXPECT_THAT(names({.sheet = true}), ElementsAre("block11.heads.png"));
  EXPECT_THAT(names({.block = "all", .sheet = true}), ElementsAre("blocks.mean.png"));
  EXPECT_THAT(names({.block = "all", .head = "1", .sheet = true}), ElementsAre("blocks.head1.png"));
  EXPECT_THAT(names({.block = "all", .head = "all", .sheet = true}, config(2)),
              ElementsAre("block0.heads.png", "block1.heads.png"));
  EXPECT_THAT(names({.block = "4", .head = "mean", .sheet = true}), ElementsAre("block04.mean.png"));
}

TEST(PlanFiles, OneArrayHoldsEverything) {
  EXPECT_THAT(names({.block = "all", .head = "all", .png = false, .npy = true}),
              ElementsAre("blocks.heads.npy"));
  EXPECT_THAT(names({.npy = true}), ElementsAre("block11.mean.png", "block11.mean.npy"));
  EXPECT_THAT(names({.rollout = true, .png = false, .npy = true}), ElementsAre("rollout.npy"));
}

TEST(PlanFiles, RefusesWhatTheModelHasNot) {
  EXPECT_ERROR(plan_files({.block = "12"}, config()), ErrorCode::invalid_argument, "--block 12", "0 to 11");
  EXPECT_ERROR(plan_files({.block = "-1"}, config()), ErrorCode::invalid_argument, "--block -1", "last");
  EXPECT_ERROR(plan_files({.block = "first"}, config()), ErrorCode::invalid_argument, "--block first");
  EXPECT_ERROR(plan_files({.head = "3"}, config()), ErrorCode::invalid_argument, "--head 3", "0 to 2",
               "mean");
  EXPECT_ERROR(plan_files({.head = "1,2"}, config()), ErrorCode::invalid_argument, "--head 1,2");
}

/// Two blocks of two heads on a grid of 1 x 2: values 0, 1, 2, …
io::AttentionMaps counted_maps() {
  io::AttentionMaps maps;
  maps.heads = Tensor({2, 2, 1, 2});
  std::iota(maps.heads.data(), maps.heads.data() + maps.heads.size(), 0.0F);
  maps.rollout = Tensor({1, 2});
  maps.rollout.data()[0] = 0.5F;
  maps.rollout.data()[1] = 0.25F;
  return maps;
}

void expect_array(const AttentionRequest& request, const Shape& shape, const std::vector<float>& values) {
  const io::AttentionMaps maps = counted_maps();
  const Tensor array = gather(plan_files(request, config(2, 2)).front(), maps);
  EXPECT_EQ(array.shape(), shape);
  EXPECT_EQ(std::vector<float>(array.data(), array.data() + array.size()), values);
}

TEST(Gather, HasAnAxisForWhatIsAll) {
  expect_array({}, {1, 2}, {5, 6});
  expect_array({.block = "0", .head = "1"}, {1, 2}, {2, 3});
  expect_array({.block = "0", .head = "all", .png = false, .npy = true}, {2, 1, 2}, {0, 1, 2, 3});
  expect_array({.block = "all", .png = false, .npy = true}, {2, 1, 2}, {1, 2, 5, 6});
  expect_array({.block = "all", .head = "all", .png = false, .npy = true}, {2, 2, 1, 2},
               {0, 1, 2, 3, 4, 5, 6, 7});
  expect_array({.rollout = true}, {1, 2}, {0.5F, 0.25F});
}

/// A picture of 20 x 40 that is to be turned to the right, seen whole.
io::AttentionView view() {
  io::Image picture{20, 40, std::vector<std::uint8_t>(3 * 20 * 40, 90)};
  picture.orientation = 6;
  return {picture, {{0, 20}, {0, 20}}, counted_maps()};
}

TEST(Draw, OverlaysAreUpright) {
  const io::Image overlay = draw(plan_files({}, config(2, 2)).front(), view(), {.alpha = 1});
  EXPECT_EQ(overlay.height, 40);
  EXPECT_EQ(overlay.width, 20);
  // The cell at the left of the stored picture has the lowest value; turned to the right it is at the top.
  EXPECT_LT(overlay.pixels.front(), 10);
  EXPECT_GT(overlay.pixels[3 * 39 * 20], 240);
}

TEST(Draw, SheetsHaveATileForEach) {
  const auto area = [](const AttentionRequest& request) {
    const io::Image sheet = draw(plan_files(request, config(2, 2)).front(), view(), {});
    return sheet.height * sheet.width;
  };
  constexpr std::int64_t kTile = 224 * 112;
  EXPECT_GT(area({.sheet = true}), 4 * kTile);  // the picture, two heads, their mean
  EXPECT_GT(area({.block = "all", .sheet = true}), 3 * kTile);
  EXPECT_LT(area({.block = "1", .head = "0", .sheet = true}), area({.sheet = true}));
}

}  // namespace
}  // namespace vit::apps
