// `--precision`: what is computed, and what is said where a processor lacks it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/command.hpp"

namespace vit::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kPictures = VITRINE_DATA "/images/fashion-mnist";

std::vector<std::string> classify(const std::string& precision, const std::vector<std::string>& more = {}) {
  std::vector<std::string> all{"classify", kPictures, "--format",    "jsonl",
                               "-k",       "10",      "--precision", precision};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// Best label, and the score of each index, of every picture.
struct Answer {
  std::string label;
  std::vector<double> scores = std::vector<double>(10);
};

std::vector<Answer> answers(const CommandResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::vector<Answer> all;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    const json row = json::parse(line);
    Answer answer{row.at("predictions").at(0).at("label")};
    for (const json& p : row.at("predictions"))
      answer.scores.at(p.at("index").get<std::size_t>()) = p.at("score").get<double>();
    all.push_back(answer);
  }
  EXPECT_EQ(all.size(), 10U);
  return all;
}

bool fell_back(const CommandResult& result) {
  return result.err.find("fp32 is used") != std::string::npos;
}

// The shipped model is sure of these pictures; how sure moves by what rounding does.
TEST(Precision, GivesTheSameLabelsAndOtherBits) {
  const CommandResult exact = vitrine(classify("fp32"));
  const std::vector<Answer> expected = answers(exact);
  for (const auto& [precision, bound] : {std::pair("bf16", 0.02), std::pair("int8", 0.05)}) {
    const CommandResult result = vitrine(classify(precision));
    if (fell_back(result)) continue;  // as below
    EXPECT_EQ(result.err, "");
    EXPECT_NE(result.out, exact.out) << precision << " computes something of its own";
    const std::vector<Answer> got = answers(result);
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].label, expected[i].label) << precision;
      for (std::size_t k = 0; k < 10; ++k) EXPECT_NEAR(got[i].scores[k], expected[i].scores[k], bound);
    }
  }
}

TEST(Precision, DoesNotDependOnBatchAndThreads) {
  for (const char* precision : {"bf16", "int8"}) {
    const std::vector<Answer> one = answers(vitrine(classify(precision, {"--threads", "1", "--batch", "1"})));
    for (const auto& [threads, batch] : {std::pair("2", "1"), std::pair("1", "7")}) {
      const std::vector<Answer> other =
          answers(vitrine(classify(precision, {"--threads", threads, "--batch", batch})));
      ASSERT_EQ(other.size(), one.size());
      for (std::size_t i = 0; i < one.size(); ++i)
        for (std::size_t k = 0; k < 10; ++k)
          EXPECT_NEAR(other[i].scores[k], one[i].scores[k], 1e-5) << precision;
    }
  }
}

TEST(Precision, FallsBackAndSaysSo) {
  const std::string exact = vitrine_behind("export ONEDNN_MAX_CPU_ISA=AVX2", classify("fp32")).out;
  for (const std::string precision : {"bf16", "int8"}) {
    const CommandResult result = vitrine_behind("export ONEDNN_MAX_CPU_ISA=AVX2", classify(precision));
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("note: --precision " + precision),
                      HasSubstr("this processor has no " + precision), HasSubstr("fp32 is used")));
    EXPECT_EQ(result.out, exact) << precision;
    const CommandResult quiet = vitrine_behind("export ONEDNN_MAX_CPU_ISA=AVX2", classify(precision, {"-q"}));
    EXPECT_EQ(quiet.err, "");
    EXPECT_EQ(quiet.out, exact);
  }
}

TEST(Precision, OthersAreWrongUsage) {
  const CommandResult result = vitrine(classify("fp16"));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("fp16"), HasSubstr("bf16"), HasSubstr("int8")));
  EXPECT_EQ(result.out, "");
}

}  // namespace
}  // namespace vit::test
