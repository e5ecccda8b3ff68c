// `--merge`: fewer tokens from block to block.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "io/safetensors.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/compare.hpp"

namespace vit::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kPictures = VITRINE_DATA "/images/fashion-mnist";

std::vector<std::string> with(std::vector<std::string> all, const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

CommandResult classify(const std::vector<std::string>& more) {
  return vitrine(with({"classify", kPictures, "--format", "jsonl", "-k", "10"}, more));
}

std::vector<json> rows(const CommandResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::vector<json> all;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) all.push_back(json::parse(line));
  return all;
}

// The shipped model is sure of these pictures.
TEST(Merge, ClassifiesWithTheSameLabelsAndOtherScores) {
  const CommandResult all_tokens = classify({});
  EXPECT_EQ(classify({"--merge", "0"}).out, all_tokens.out);
  const CommandResult fewer = classify({"--merge", "2"});
  EXPECT_EQ(fewer.err, "");
  const std::vector<json> expected = rows(all_tokens);
  const std::vector<json> got = rows(fewer);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].at("predictions").at(0).at("label"), expected[i].at("predictions").at(0).at("label"));
    EXPECT_NE(got[i].at("predictions").at(0).at("score"), expected[i].at("predictions").at(0).at("score"));
  }
}

TEST(Merge, DoesNotDependOnBatchAndThreads) {
  const std::vector<json> expected = rows(classify({"--merge", "3", "--threads", "1", "--batch", "1"}));
  for (const auto& [threads, batch] : {std::pair("2", "1"), std::pair("1", "7"), std::pair("2", "4")}) {
    const std::vector<json> got = rows(classify({"--merge", "3", "--threads", threads, "--batch", batch}));
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      for (std::size_t k = 0; k < 10; ++k) {
        const json& a = got[i].at("predictions").at(k);
        const json& b = expected[i].at("predictions").at(k);
        EXPECT_EQ(a.at("index"), b.at("index"));
        EXPECT_NEAR(a.at("score").get<double>(), b.at("score").get<double>(), 1e-5);
      }
    }
  }
}

/// pixel_values of a few pictures, and what `run` makes of them.
class MergeRun : public testing::Test {
 protected:
  void SetUp() override {
    const CommandResult result = vitrine({"preprocess", kPictures, "-o", pixels});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  CommandResult run(const std::string& output, const std::vector<std::string>& more) const {
    return vitrine(with({"run", "--input", pixels, "-o", output}, more));
  }

  TempFolder folder;
  const std::string pixels = folder.path() / "pixels.safetensors";
  const std::string file = folder.path() / "out.safetensors";
};

TEST_F(MergeRun, WritesTheTokensThatAreLeft) {
  const CommandResult result =
      run(file, {"--merge", "5", "--batch", "4", "--outputs", "hidden_states,last_hidden_state,logits"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const io::SafetensorsFile tensors(file, ErrorCode::tensor_invalid);
  std::int64_t before = 0;
  std::int64_t patches = 49;
  for (int i = 0;; ++i) {
    const std::string name = "hidden_states." + std::to_string(i);
    if (tensors.find(name) == nullptr) {
      EXPECT_GT(i, 2);
      break;
    }
    before = patches + 1;
    EXPECT_EQ(tensors.read(name).shape()[1], before) << name;
    patches -= std::min<std::int64_t>(5, patches / 2);
  }
  EXPECT_EQ(tensors.read("last_hidden_state").shape()[1], before);
}

TEST_F(MergeRun, RefusesAttentionMapsAndLeavesNoFile) {
  const CommandResult result = run(file, {"--merge", "5", "--outputs", "logits,attentions"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("attention maps"), HasSubstr("merged")));
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(MergeUsage, NumbersThatCannotBe) {
  for (const char* number : {"-1", "2.5", "many", "99999999999"}) {
    const CommandResult result = classify({"--merge", number});
    EXPECT_EQ(result.exit_code, 2) << number;
    EXPECT_THAT(result.err, HasSubstr("--merge")) << number;
    EXPECT_EQ(result.out, "") << number;
  }
}

// More than there are: half of the patches in every block.
TEST(MergeUsage, AnyNumberOfTokensWillDo) {
  for (const json& row : rows(classify({"--merge", "1000000"}))) EXPECT_FALSE(row.contains("error"));
}

TEST(MergeUsage, BenchSaysWhatItCounted) {
#ifndef NDEBUG
  GTEST_SKIP() << "a debug build refuses to";
#endif
  const std::vector<std::string> bench{"bench", "--arch", "vit_tiny_patch16_224", "--iterations", "1"};
  const auto report = [&](const std::vector<std::string>& more) {
    const CommandResult result = vitrine(with(with(bench, {"--format", "json"}), more));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out);
  };
  const json all = report({});
  const json fewer = report({"--merge", "8"});
  EXPECT_EQ(all.at("merge"), 0);
  EXPECT_EQ(fewer.at("merge"), 8);
  const double share = fewer.at("gflop_per_image").get<double>() / all.at("gflop_per_image").get<double>();
  // Of blocks with 197, 189, … 109 tokens in attention and eight fewer in the MLP; patches and head as
  // before.
  EXPECT_NEAR(share, 0.7373, 1e-4);
  EXPECT_THAT(vitrine(with(bench, {"--merge", "8"})).out, HasSubstr("8 tokens merged in every block"));
}

TEST(MergeUsage, NetworksWhoseTokensCannotBeMerged) {
  const CommandResult result =
      vitrine({"bench", "--arch", "eva02_tiny_patch14_224", "--iterations", "1", "--merge", "4"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("rotary positions"));
  EXPECT_EQ(result.out, "");
}

}  // namespace
}  // namespace vit::test
