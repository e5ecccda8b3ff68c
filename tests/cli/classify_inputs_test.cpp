// What `vitrine classify` takes for an INPUT besides pictures and folders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/command.hpp"

namespace vit::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

const std::string kPictures = VITRINE_DATA "/images/fashion-mnist";
const std::string kBoot = kPictures + "/0000-ankle-boot.png";
const std::string kClip = VITRINE_TEST_DATA "/videos/clip.mp4";

std::vector<json> rows_of(const CommandResult& result) {
  std::vector<json> rows;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) rows.push_back(json::parse(line));
  return rows;
}

TEST(ClassifyInputs, RowsOfAVideoHaveFrameAndSeconds) {
  const CommandResult result =
      vitrine({"classify", kClip, "--every", "10", "--start", "0.5", "--end", "1.3", "--format", "jsonl"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::vector<json> rows = rows_of(result);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("input"), kClip);
  EXPECT_EQ(rows[0].at("frame"), 20);
  EXPECT_EQ(rows[0].at("seconds"), 0.8);
  EXPECT_EQ(rows[1].at("frame"), 30);
  EXPECT_EQ(rows[1].at("predictions").size(), 5U);
  EXPECT_THAT(
      vitrine({"classify", kClip, "--every", "40", "-k", "1"}).out,
      AllOf(HasSubstr("clip.mp4  frame 0, 0.000 s\n  0."), HasSubstr("clip.mp4  frame 40, 1.600 s\n")));
  EXPECT_THAT(vitrine({"classify", kClip, "--every", "40", "-k", "1", "--format", "csv"}).out,
              HasSubstr(",,,40,1.6\n"));
}

/// tests/data/make_video_labels.py
TEST(ClassifyInputs, VideosHaveTheLabelsOfALoopInPython) {
  const json expected = json::parse(std::ifstream(VITRINE_TEST_DATA "/videos/labels.json"));
  ASSERT_EQ(expected.size(), 4U);
  for (const auto& [name, frames] : expected.items()) {
    const std::vector<json> rows =
        rows_of(vitrine({"classify", VITRINE_TEST_DATA "/videos/" + name, "--format", "jsonl", "-k", "1"}));
    ASSERT_EQ(rows.size(), frames.size()) << name;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_NEAR(rows[i].at("seconds").get<double>(), frames[i][0].get<double>(), 2e-6) << name;
      EXPECT_EQ(rows[i].at("predictions").at(0).at("label"), frames[i][1]) << name << " frame " << i;
      // Another FFmpeg may round a pixel differently.
      EXPECT_NEAR(rows[i].at("predictions").at(0).at("score").get<double>(), frames[i][2].get<double>(), 2e-3)
          << name << " frame " << i;
    }
  }
}

TEST(ClassifyInputs, EveryGivesTheFramesOfAnAnimation) {
  const std::string gif = VITRINE_TEST_DATA "/animations/00.gif";
  const std::vector<json> still = rows_of(vitrine({"classify", gif, "--format", "jsonl"}));
  ASSERT_EQ(still.size(), 1U);
  EXPECT_FALSE(still[0].contains("frame"));
  const std::vector<json> moving =
      rows_of(vitrine({"classify", gif, kBoot, "--every", "1", "--format", "jsonl"}));
  ASSERT_GE(moving.size(), 3U);
  EXPECT_EQ(moving[0].at("frame"), 0);
  const auto score = [](const json& row) { return row.at("predictions").at(0).at("score").get<double>(); };
  EXPECT_NEAR(score(moving[0]), score(still[0]), 1e-5);
  EXPECT_EQ(moving[1].at("frame"), 1);
  EXPECT_GT(std::abs(score(moving[1]) - score(still[0])), 1e-3);
  EXPECT_FALSE(moving.back().contains("frame"));
}

TEST(ClassifyInputs, AVideoIsTheSameInOnePieceOrInShards) {
  const std::vector<json> whole = rows_of(vitrine({"classify", kClip, "--format", "jsonl", "-k", "2"}));
  ASSERT_EQ(whole.size(), 50U);
  std::vector<json> together(50);
  for (std::size_t shard = 0; shard < 4; ++shard) {
    const std::vector<json> part = rows_of(vitrine(
        {"classify", kClip, "--format", "jsonl", "-k", "2", "--shard", std::to_string(shard + 1) + "/4"}));
    for (std::size_t i = 0; i < part.size(); ++i) together.at(shard + 4 * i) = part[i];
  }
  EXPECT_EQ(together, whole);
}

TEST(ClassifyInputs, BadVideosAndCamerasAreRows) {
  const TempFolder folder;
  const CommandResult result = vitrine({"classify", folder.write("bad.mp4", "no video"), "camera:96", kBoot,
                                        folder / "missing.mp4", "--format", "jsonl"});
  EXPECT_EQ(result.exit_code, 1);
  const std::vector<json> rows = rows_of(result);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].at("error").at("code"), "image_corrupt");
  EXPECT_THAT(rows[1].at("error").at("message").get<std::string>(),
              HasSubstr("camera:96: there is no such camera"));
  EXPECT_TRUE(rows[2].contains("predictions"));
  EXPECT_EQ(rows[3].at("error").at("code"), "image_not_found");
  std::istringstream lines(result.err);  // nothing but ours: OpenCV and FFmpeg print nothing
  for (std::string line; std::getline(lines, line);) EXPECT_THAT(line, ::testing::StartsWith("vitrine: "));
}

TEST(ClassifyInputs, PicturesOfAnArchiveAreThoseOfTheFolder) {
  const TempFolder folder;
  const std::string tar = folder / "shard.tar.gz";
  ASSERT_EQ(std::system(("tar -C '" + kPictures + "' --sort=name -czf '" + tar + "' .").c_str()), 0);
  const std::vector<json> archived = rows_of(vitrine({"classify", tar, "--format", "jsonl"}));
  const std::vector<json> plain = rows_of(vitrine({"classify", kPictures, "--format", "jsonl"}));
  ASSERT_EQ(archived.size(), plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const std::string name = plain[i].at("input").get<std::string>().substr(kPictures.size());
    EXPECT_EQ(archived[i].at("input"), tar + name);
    EXPECT_EQ(archived[i].at("predictions"), plain[i].at("predictions"));
  }
}

TEST(ClassifyInputs, PatternsAndFilesNamedLikeThem) {
  const TempFolder folder;
  for (const char* name : {"a[1].png", "a1.png", "b2.png"}) fs::copy_file(kBoot, folder / name);
  const auto inputs = [&](const std::string& argument) {
    std::vector<std::string> names;
    for (const json& row : rows_of(vitrine({"classify", folder / argument, "--format", "jsonl"})))
      names.push_back(fs::path(row.at("input").get<std::string>()).filename());
    return names;
  };
  EXPECT_EQ(inputs("a[1].png"), (std::vector<std::string>{"a[1].png"}));
  EXPECT_EQ(inputs("[ab]?.png"), (std::vector<std::string>{"a1.png", "b2.png"}));
  const CommandResult none = vitrine({"classify", folder / "*.gif"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("*.gif: there is no file of this name, and none that matches"));
}

TEST(ClassifyInputs, WrongShardsAndFramesAreUsage) {
  for (const char* shard : {"0/2", "3/2", "2", "a/b", "1/", "/2", "1/2/3", "-1/2"}) {
    const CommandResult result = vitrine({"classify", kBoot, "--shard", shard});
    EXPECT_EQ(result.exit_code, 2) << shard;
    EXPECT_THAT(result.err, HasSubstr("--shard")) << shard;
  }
  EXPECT_EQ(vitrine({"classify", kBoot, "--every", "0"}).exit_code, 2);
  EXPECT_EQ(vitrine({"classify", kBoot, "--start", "-1"}).exit_code, 2);
  EXPECT_EQ(vitrine({"classify", kBoot, "--end", "nan"}).exit_code, 2);
}

}  // namespace
}  // namespace vit::test
