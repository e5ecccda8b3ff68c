// `bench` as a script sees it. Nothing here depends on how fast anything is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/command.hpp"

namespace vit::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::vector<std::string> bench(const std::vector<std::string>& more) {
  std::vector<std::string> all{"bench", "--threads", "1"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// The cases run the shipped model; a debug build does not let them.
class Bench : public testing::Test {
 protected:
  void SetUp() override {
#ifndef NDEBUG
    GTEST_SKIP() << "a debug build refuses to";
#endif
  }

  static json report(const std::vector<std::string>& more = {}) {
    std::vector<std::string> all = bench({"--format", "json", "--iterations", "5"});
    all.insert(all.end(), more.begin(), more.end());
    const CommandResult result = vitrine(all);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out);
  }
};

TEST(BenchDebug, IsRefused) {
#ifdef NDEBUG
  GTEST_SKIP() << "this is no debug build";
#endif
  const CommandResult result = vitrine(bench({}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("debug build"));
}

TEST_F(Bench, SaysWhereAndWhatItMeasured) {
  const json r = report({"--batch", "2"});
  for (const char* text : {"model", "cpu", "isa", "onednn", "onednn_build", "build", "peak_kernel"}) {
    EXPECT_NE(r.at(text).get<std::string>(), "") << text;
  }
  EXPECT_EQ(r.at("precision"), "fp32");
  EXPECT_EQ(r.at("threads"), 1);
  EXPECT_EQ(r.at("batch"), 2);
  EXPECT_EQ(r.at("iterations"), 5);
  EXPECT_EQ(r.at("image_size"), json({28, 28}));
  EXPECT_GT(r.at("peak_rss_mib"), 1.0);
  EXPECT_FALSE(r.contains("profile"));
  EXPECT_FALSE(r.contains("kernels"));
}

TEST_F(Bench, NumbersFitTogether) {
  const json r = report({"--batch", "2"});
  for (const char* name : {"latency_ms", "gflops", "peak_gflops", "share_of_peak"}) {
    double last = 0;
    for (const char* percentile : {"min", "p10", "median", "p90", "p99"}) {
      EXPECT_GE(r.at(name).at(percentile), last) << name << ' ' << percentile;
      last = r.at(name).at(percentile);
    }
    EXPECT_GT(r.at(name).at("min"), 0.0) << name;
  }
  const double seconds = r.at("latency_ms").at("median").get<double>() / 1e3;
  const double flops = 2 * r.at("gflop_per_image").get<double>() / seconds;
  EXPECT_NEAR(r.at("images_per_second").get<double>() * seconds, 2, 1e-6);
  EXPECT_NEAR(r.at("gflops").at("median").get<double>() / flops, 1, 1e-6);
  const double best = 2 * r.at("gflop_per_image").get<double>() /
                      (r.at("latency_ms").at("min").get<double>() / 1e3) /
                      r.at("share_of_peak_best").get<double>();  // the limit's best rate
  EXPECT_GE(best * (1 + 1e-6), r.at("peak_gflops").at("p99"));
}

TEST_F(Bench, ProfileSharesOutTheForwardPass) {
  const json r = report({"--profile"});
  double milliseconds = 0;
  double shares = 0;
  for (const char* kind :
       {"patch_embed", "norm", "attn.qkv", "attn", "attn.proj", "mlp.fc1", "mlp.fc2", "head", "other"}) {
    const json& layer = r.at("profile").at(kind);
    milliseconds += layer.at("ms").get<double>();
    shares += layer.at("share").get<double>();
    EXPECT_EQ(layer.at("gflops") > 0.0, std::string(kind) != "norm" && std::string(kind) != "other") << kind;
  }
  EXPECT_EQ(r.at("profile").size(), 9U);
  EXPECT_NEAR(shares, 1, 1e-6);
  // The mean of all passes lies between the fastest and the slowest; what is not in a layer is little.
  EXPECT_GT(milliseconds, 0.5 * r.at("latency_ms").at("min").get<double>());
  EXPECT_LE(milliseconds, r.at("latency_ms").at("p99"));
}

TEST_F(Bench, TextSaysTheSame) {
  const CommandResult result = vitrine(bench({"--iterations", "2", "--profile", "--kernels"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"model ", "machine ", "oneDNN ", "build ", "latency ", "throughput ", "limit ",
                           "share ", "memory ", "attn.qkv ", "mlp.fc2 ", "blocks.attn.qkv  "}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
}

TEST_F(Bench, KernelsAreInJsonToo) {
  EXPECT_THAT(report({"--kernels"}).at("kernels").dump(), HasSubstr("blocks.attn.qkv"));
}

TEST_F(Bench, LockstepAnswersEachLineByARound) {
  const CommandResult result = vitrine(bench({"--lockstep", "--iterations", "2"}), "\n3\n\n");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::istringstream lines(result.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const json round = json::parse(line);
    EXPECT_EQ(round.size(), 2U);
    EXPECT_GT(round.at("network_seconds"), 0.0);
    EXPECT_GT(round.at("limit_seconds"), 0.0);
  }
  EXPECT_EQ(count, 3);
}

TEST_F(Bench, LockstepWithoutARoundSaysNothing) {
  const CommandResult result = vitrine(bench({"--lockstep"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
}

TEST_F(Bench, LockstepRefusesALineThatIsNoNumber) {
  for (const char* line : {"0\n", "go\n", "-1\n"}) {
    const CommandResult result = vitrine(bench({"--lockstep"}), line);
    EXPECT_EQ(result.exit_code, 2) << line;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("--lockstep"));
  }
}

TEST(BenchUsage, HelpTellsOfEveryMode) {
  const CommandResult help = vitrine({"bench", "--help"});
  for (const char* part : {"--profile", "--lockstep", "--kernels", "network_seconds"}) {
    EXPECT_THAT(help.out, HasSubstr(part));
  }
}

}  // namespace
}  // namespace vit::test
