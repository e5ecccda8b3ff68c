#include "apps/suggest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vit::apps {
namespace {

TEST(Suggest, FindsTheNearestName) {
  const std::vector<std::string> commands{"classify", "convert", "export", "info", "verify"};
  EXPECT_EQ(closest("clasify", commands), "classify");
  EXPECT_EQ(closest("calssify", commands), "classify");
  EXPECT_EQ(closest("exprot", commands), "export");
  EXPECT_EQ(closest("inof", commands), "info");
  EXPECT_EQ(closest("classify", commands), "classify");
  for (const char* word : {"train", "x", "", "classification"}) EXPECT_FALSE(closest(word, commands)) << word;
  EXPECT_FALSE(closest(std::string(100, 'x'), commands));
}

TEST(Suggest, DashesAreNoLettersOfAnOption) {
  EXPECT_EQ(closest("--formt", {"--format", "--force"}), "--format");
  EXPECT_FALSE(closest("--k", {"--format", "--top"}));
}

std::string failure_of(const std::string& arguments) {
  CLI::App app("", "vitrine");
  app.require_subcommand(1);
  CLI::App* const classify = app.add_subcommand("classify", "");
  int top = 0;
  std::string name;
  classify->add_option("--top-k", top);
  classify->add_option("INPUT", name);
  app.add_subcommand("export", "");
  try {
    app.parse(arguments);
  } catch (const CLI::Error& error) {
    return usage_failure(app, error);
  }
  return "";
}

TEST(Suggest, ChoicesAreNamesToo) {
  CLI::App app("", "vitrine");
  std::string format;
  app.add_option("--format", format)->check(CLI::IsMember({"text", "json", "jsonl"}));
  const auto failure = [&](const std::string& arguments) {
    try {
      app.parse(arguments);
    } catch (const CLI::Error& error) {
      return usage_failure(app, error);
    }
    return std::string();
  };
  EXPECT_THAT(failure("--format jsn"), testing::HasSubstr("(did you mean json?)"));
  EXPECT_THAT(failure("--format tabular"), testing::Not(testing::HasSubstr("did you mean")));
}

TEST(Suggest, FailuresSayWhatMayHaveBeenMeant) {
  EXPECT_EQ(
      failure_of("clasify x"),
      "vitrine: there is no command clasify (did you mean classify?); vitrine --help lists what there is\n");
  EXPECT_EQ(failure_of("train"), "vitrine: there is no command train; vitrine --help lists what there is\n");
  EXPECT_EQ(failure_of("classify x --topk=3"),
            "vitrine: there is no option --topk (did you mean --top-k?); vitrine classify --help lists what "
            "there is\n");
  EXPECT_EQ(failure_of("classify x --zzz 3"),
            "vitrine: there is no option --zzz; vitrine classify --help lists what there is\n");
  EXPECT_THAT(failure_of(""), testing::HasSubstr("vitrine classify PICTURE"));
  EXPECT_NE(failure_of("classify --top-k many").find("vitrine classify --help"), std::string::npos);
}

}  // namespace
}  // namespace vit::apps
