// Long runs of `vitrine classify`: bad pictures strewn in, killed, stopped and resumed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/command.hpp"

namespace vit::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kPictures = VITRINE_DATA "/images/fashion-mnist";
const std::string kBoot = kPictures + "/0000-ankle-boot.png";

std::vector<json> parse_lines(const std::string& text) {
  std::vector<json> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) rows.push_back(json::parse(line));
  return rows;
}

/// A folder of links to pictures, with every kind of bad one among them.
class ClassifyBulk : public ::testing::Test {
 protected:
  static constexpr int kLinks = 2000;

  ClassifyBulk() : pictures_(folder_ / "pictures") {
    fs::create_directory(pictures_);
    std::vector<fs::path> good;
    for (const auto& entry : fs::directory_iterator(kPictures))
      if (entry.path().extension() == ".png") good.push_back(entry.path());
    const std::string png = read_text(kBoot);
    const std::string jpeg = read_text(VITRINE_DATA "/images/rocket.jpg");
    const std::vector<std::pair<std::string, std::string>> bad{
        {"image_empty", ""},
        {"image_unknown", "no picture\n"},
        {"image_truncated", png.substr(0, png.size() / 2)},
        {"image_truncated", jpeg.substr(0, jpeg.size() - 2)},
        {"image_corrupt", png.substr(0, 60) + std::string(20, 'x') + png.substr(80)}};
    for (int i = 0; i < kLinks; ++i) {
      const fs::path link = pictures_ / (std::to_string(i) + ".png");
      if (i % 97 == 13) {
        fs::create_symlink("nowhere", link);
        codes_[link.filename()] = "image_not_found";
      } else if (i % 89 == 7) {
        const auto& [code, content] = bad[static_cast<std::size_t>(i / 89) % bad.size()];
        std::ofstream(link, std::ios::binary) << content;
        codes_[link.filename()] = code;
      } else {
        fs::create_symlink(good[static_cast<std::size_t>(i) % good.size()], link);
      }
    }
  }

  std::vector<std::string> command(const std::string& output, bool resume = false) const {
    std::vector<std::string> all{"classify", pictures_, "-o", folder_ / output, "-k", "3"};
    if (resume) all.emplace_back("--resume");
    return all;
  }

  std::string whole() const {
    const CommandResult result = vitrine(command("whole.jsonl"));
    EXPECT_EQ(result.exit_code, 1);
    return read_text(folder_ / "whole.jsonl");
  }

  TempFolder folder_;
  fs::path pictures_;
  std::map<std::string, std::string> codes_;
};

TEST_F(ClassifyBulk, HasARowForEachInputInOrderAndInConstantMemory) {
  const CommandResult result = vitrine(command("rows.jsonl"));
  EXPECT_EQ(result.exit_code, 1);
  const std::vector<json> rows = parse_lines(read_text(folder_ / "rows.jsonl"));
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(kLinks));
  for (int i = 0; i < kLinks; ++i) {
    const json& row = rows[static_cast<std::size_t>(i)];
    const std::string name = std::to_string(i) + ".png";
    EXPECT_EQ(row.at("input"), (pictures_ / name).native());
    const auto bad = codes_.find(name);
    if (bad == codes_.end()) {
      EXPECT_EQ(row.at("predictions").size(), 3U) << row;
    } else {
      EXPECT_EQ(row.at("error").at("code"), bad->second) << row;
    }
  }
  std::vector<std::string> few{"classify", "-k", "3"};
  for (int i = 0; i < 100; ++i) few.push_back(pictures_ / (std::to_string(i) + ".png"));
  EXPECT_LT(result.peak_kib, vitrine(few).peak_kib + 12 * 1024);
}

TEST_F(ClassifyBulk, KilledAndResumedGivesTheSameFile) {
  const std::string expected = whole();
  const std::string partial = folder_ / "rows.jsonl.partial";
  int kills = 0;
  for (auto patience = 150ms; kills < 30; patience += 40ms) {
    const CommandResult killed = vitrine_killed_after(patience, command("rows.jsonl", true));
    if (killed.exit_code != 128 + SIGKILL) break;
    ++kills;
    EXPECT_FALSE(fs::exists(folder_ / "rows.jsonl"));
  }
  EXPECT_GT(kills, 0);
  if (fs::exists(partial)) {
    const CommandResult last = vitrine(command("rows.jsonl", true));
    EXPECT_EQ(last.exit_code, 1) << last.err;
  }
  EXPECT_EQ(read_text(folder_ / "rows.jsonl"), expected);
  EXPECT_FALSE(fs::exists(partial));
}

TEST_F(ClassifyBulk, StoppedBySignalFinishesTheRowInHandAndSaysHowToResume) {
  const std::string expected = whole();
  for (const int signal : {SIGINT, SIGTERM}) {
    std::error_code ignored;
    fs::remove(folder_ / "rows.jsonl", ignored);
    const CommandResult stopped =
        vitrine_signalled({signal, 300ms, folder_ / "rows.jsonl.partial"}, "true", command("rows.jsonl"));
    ASSERT_EQ(stopped.exit_code, 128 + signal) << stopped.err;
    EXPECT_THAT(stopped.err,
                AllOf(HasSubstr("stopped after "), HasSubstr("rows.jsonl.partial"), HasSubstr("--resume")));
    EXPECT_FALSE(fs::exists(folder_ / "rows.jsonl"));
    const std::string partial = read_text(folder_ / "rows.jsonl.partial");
    EXPECT_EQ(partial, expected.substr(0, partial.size()));
    EXPECT_TRUE(partial.empty() || partial.back() == '\n');

    const CommandResult refused = vitrine(command("rows.jsonl"));
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, AllOf(HasSubstr("rows.jsonl.partial"), HasSubstr("--resume")));

    const CommandResult resumed = vitrine(command("rows.jsonl", true));
    EXPECT_EQ(resumed.exit_code, 1);
    EXPECT_EQ(read_text(folder_ / "rows.jsonl"), expected);
  }
}

TEST_F(ClassifyBulk, StoppedWithAnotherFormatKeepsWhatThereIs) {
  const CommandResult stopped =
      vitrine_signalled({SIGINT, 300ms}, "true", {"classify", pictures_, "-o", folder_ / "rows.json"});
  ASSERT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("only -o FILE.jsonl can be resumed"));
  EXPECT_TRUE(json::parse(read_text(folder_ / "rows.json")).is_array());
}

TEST_F(ClassifyBulk, AnotherModelOrOtherInputsAreNotResumed) {
  const CommandResult stopped =
      vitrine_signalled({SIGINT, 400ms, folder_ / "rows.jsonl.partial"}, "true", command("rows.jsonl"));
  ASSERT_EQ(stopped.exit_code, 130) << stopped.err;
  if (read_text(folder_ / "rows.jsonl.partial").empty()) GTEST_SKIP() << "stopped before the first row";
  const std::string before = read_text(folder_ / "rows.jsonl.partial");
  std::vector<std::string> other_k = command("rows.jsonl", true);
  other_k[5] = "2";
  const CommandResult k = vitrine(other_k);
  EXPECT_EQ(k.exit_code, 2);
  EXPECT_THAT(k.err, HasSubstr("its last row"));
  std::vector<std::string> other_inputs = command("rows.jsonl", true);
  other_inputs.insert(other_inputs.begin() + 1, kBoot);
  const CommandResult inputs = vitrine(other_inputs);
  EXPECT_EQ(inputs.exit_code, 2);
  EXPECT_THAT(inputs.err, HasSubstr("line 1 is about"));
  EXPECT_LE(read_text(folder_ / "rows.jsonl.partial").size(), before.size());
  EXPECT_EQ(vitrine(command("rows.jsonl", true)).exit_code, 1);
}

TEST(ClassifyResume, NeedsAFileOfJsonLines) {
  const TempFolder folder;
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"classify", kBoot, "--resume"},
        {"classify", kBoot, "--resume", "-o", folder / "rows.csv"}}) {
    const CommandResult result = vitrine(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("--resume needs -o FILE.jsonl"));
  }
}

TEST(ClassifyResume, OfNothingBeginsAndOfACompleteFileDoesNothing) {
  const TempFolder folder;
  const std::vector<std::string> command{"classify", kBoot, "-o", folder / "rows.jsonl", "--resume"};
  EXPECT_EQ(vitrine(command).exit_code, 0);
  const std::string rows = read_text(folder / "rows.jsonl");
  EXPECT_EQ(parse_lines(rows).size(), 1U);
  const CommandResult again = vitrine(command);
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.err, HasSubstr("is complete"));
  EXPECT_EQ(read_text(folder / "rows.jsonl"), rows);
}

TEST(ClassifyResume, TheFormatIsThatOfTheFilesName) {
  const TempFolder folder;
  for (const auto& [name, begin] :
       {std::pair("rows.csv", "input,rank"), std::pair("rows.json", "[\n{\"input\""),
        std::pair("rows.jsonl", "{\"input\""), std::pair("rows.txt", "/")}) {
    EXPECT_EQ(vitrine({"classify", kBoot, "-o", folder / name}).exit_code, 0);
    EXPECT_THAT(read_text(folder / name), ::testing::StartsWith(begin)) << name;
  }
}

TEST(ClassifyStop, EndsTheWaitForAList) {
  const TempFolder folder;
  const std::string fifo = folder / "list";
  const CommandResult result = vitrine_signalled(
      {SIGINT, 1500ms}, "mkfifo '" + fifo + "' && exec 0<>'" + fifo + "' && echo '" + kBoot + "' >&0",
      {"classify", "-", "--format", "jsonl"});
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(parse_lines(result.out).size(), 1U) << "the line that had come is answered";
  EXPECT_THAT(result.err, HasSubstr("stopped after 1 rows"));
}

}  // namespace
}  // namespace vit::test
