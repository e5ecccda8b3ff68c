// `vitrine classify` as a user sees it, with the model and the pictures that ship.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/command.hpp"

namespace vit::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kPictures = VITRINE_DATA "/images/fashion-mnist";
const std::string kBoot = kPictures + "/0000-ankle-boot.png";
const std::string kTrouser = kPictures + "/0002-trouser.png";

std::vector<json> parse_lines(const std::string& text) {
  std::vector<json> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) rows.push_back(json::parse(line));
  return rows;
}

TEST(Classify, NamesTheShippedPictures) {
  const CommandResult result = vitrine({"classify", kPictures, "--format", "jsonl", "-k", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::vector<json> rows = parse_lines(result.out);
  ASSERT_EQ(rows.size(), 10U);
  for (const json& row : rows) {
    // 0000-ankle-boot.png holds an "Ankle boot": the truth of Fashion-MNIST, which the reference gets right
    // for all ten.
    std::string expected = row.at("predictions").at(0).at("label");
    for (char& c : expected)
      c = std::isalpha(static_cast<unsigned char>(c)) ? static_cast<char>(std::tolower(c)) : '-';
    EXPECT_THAT(row.at("input").get<std::string>(), ::testing::EndsWith(expected + ".png"));
  }
}

TEST(Classify, TextIsTheDefaultAndHasFourDecimals) {
  const CommandResult result = vitrine({"classify", kBoot, "-k", "2"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out,
              ::testing::MatchesRegex(".*0000-ankle-boot\\.png\n  0\\.[0-9][0-9][0-9][0-9]  Ankle boot\n"
                                      "  0\\.[0-9][0-9][0-9][0-9]  [A-Z][^\n]*\n"));
  EXPECT_EQ(result.err, "");
}

TEST(Classify, JsonIsOneArrayOfTheSameRows) {
  const CommandResult lines = vitrine({"classify", kBoot, kTrouser, "--format", "jsonl"});
  const CommandResult array = vitrine({"classify", kBoot, kTrouser, "--format", "json"});
  EXPECT_EQ(json::parse(array.out), json(parse_lines(lines.out)));
  EXPECT_EQ(json::parse(vitrine({"classify", "-", "--format", "json"}).out), json::array());
}

TEST(Classify, CsvHasOneLineForEachPrediction) {
  TempFolder folder;
  const std::string odd = folder / "a, \"b\".png";
  std::filesystem::copy_file(kBoot, odd);
  const CommandResult result =
      vitrine({"classify", odd, folder / "missing.png", "--format", "csv", "-k", "2"});
  EXPECT_EQ(result.exit_code, 1);
  std::istringstream lines(result.out);
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  ASSERT_EQ(all.size(), 4U) << result.out;
  EXPECT_EQ(all[0], "input,rank,index,label,score,error,message,frame,seconds");
  EXPECT_THAT(all[1], HasSubstr("a, \"\"b\"\".png\",1,9,Ankle boot,0."));
  EXPECT_THAT(all[2], HasSubstr("\",2,"));
  EXPECT_THAT(all[3], HasSubstr("missing.png,,,,,image_not_found,"));
}

TEST(Classify, ScoresAreAProbabilityDistributionInDescendingOrder) {
  const json row = parse_lines(vitrine({"classify", kBoot, "--format", "jsonl", "-k", "100"}).out).at(0);
  const json& predictions = row.at("predictions");
  ASSERT_EQ(predictions.size(), 10U);
  double sum = 0;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    sum += predictions[i].at("score").get<double>();
    if (i > 0) {
      EXPECT_LE(predictions[i].at("score"), predictions[i - 1].at("score"));
    }
  }
  EXPECT_NEAR(sum, 1.0, 1e-6);
}

TEST(Classify, ThresholdLeavesOutLabelsButNoRow) {
  const json sure =
      parse_lines(vitrine({"classify", kBoot, "--format", "jsonl", "--threshold", "0.5"}).out).at(0);
  EXPECT_EQ(sure.at("predictions").size(), 1U);
  const json none =
      parse_lines(vitrine({"classify", kBoot, "--format", "jsonl", "--threshold", "1"}).out).at(0);
  EXPECT_EQ(none.at("predictions").size(), 0U);
  EXPECT_THAT(vitrine({"classify", kBoot, "--format", "csv", "--threshold", "1"}).out,
              HasSubstr(".png,,,,,,,,\n"));
}

TEST(Classify, ResultsDoNotDependOnBatchOrThreads) {
  const std::vector<json> reference = parse_lines(
      vitrine({"classify", kPictures, "--format", "jsonl", "-k", "10", "--batch", "1", "--threads", "1"})
          .out);
  ASSERT_EQ(reference.size(), 10U);
  for (const std::vector<std::string>& variant : {std::vector<std::string>{"--batch", "8", "--threads", "2"},
                                                  {"--batch", "3", "--threads", "4"},
                                                  {"--threads", "1"}}) {
    std::vector<std::string> arguments{"classify", kPictures, "--format", "jsonl", "-k", "10"};
    arguments.insert(arguments.end(), variant.begin(), variant.end());
    const std::vector<json> rows = parse_lines(vitrine(arguments).out);
    ASSERT_EQ(rows.size(), reference.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].at("input"), reference[i].at("input"));
      for (std::size_t k = 0; k < 10; ++k) {
        EXPECT_NEAR(rows[i].at("predictions")[k].at("score").get<double>(),
                    reference[i].at("predictions")[k].at("score").get<double>(), 1e-5);
      }
    }
  }
}

TEST(Classify, ListOnStandardInput) {
  const CommandResult result =
      vitrine({"classify", "-", "--format", "jsonl", "-k", "1"}, kBoot + "\n" + kTrouser + "\r\n\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::vector<json> rows = parse_lines(result.out);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("input"), kBoot);
  EXPECT_EQ(rows[1].at("predictions")[0].at("label"), "Trouser");
}

TEST(Classify, OutputFileAppearsCompleteOrNotAtAll) {
  TempFolder folder;
  const std::string file = folder / "rows.jsonl";
  EXPECT_EQ(vitrine({"classify", kBoot, "--format", "jsonl", "-o", file}).exit_code, 0);
  EXPECT_EQ(parse_lines(read_text(file)).size(), 1U);
  const CommandResult lost = vitrine({"classify", kBoot, "-o", folder / "no/such/folder/rows.jsonl"});
  EXPECT_EQ(lost.exit_code, 4);
  EXPECT_THAT(lost.err, HasSubstr("no/such/folder/rows.jsonl"));
  EXPECT_EQ(lost.out, "");
}

TEST(Classify, FullDiskIsNoticed) {
  const CommandResult result = vitrine({"classify", kBoot, "-o", "/dev/full"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, HasSubstr("/dev/full"));
}

// ------------------------------------------------------------------------------------------------ bad
// pictures

struct BadPicture {
  std::string name;
  std::string content;
  std::string code;
};

TEST(Classify, OneBadPictureNeverEndsARun) {
  TempFolder folder;
  const std::string png = read_text(kBoot);
  const std::string jpeg = read_text(VITRINE_DATA "/images/rocket.jpg");
  const std::vector<BadPicture> bad{
      {"zero.png", "", "image_empty"},
      {"text.jpg", "This is a text, not a picture.\n", "image_unknown"},
      {"page.png", "<!DOCTYPE html><html><body>404</body></html>", "image_unknown"},
      {"pointer.jpg", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n",
       "image_unknown"},
      {"cut.png", png.substr(0, png.size() / 2), "image_truncated"},
      {"cut.jpg", jpeg.substr(0, jpeg.size() / 2), "image_truncated"},
      {"end.jpg", jpeg.substr(0, jpeg.size() - 2), "image_truncated"},
  };
  std::vector<std::string> arguments{"classify", "--format", "jsonl", kBoot};
  for (const BadPicture& picture : bad) {
    folder.write(picture.name, picture.content);
    arguments.push_back(folder / picture.name);
  }
  arguments.push_back(folder / "missing.png");
  std::filesystem::create_directory(folder / "empty");
  arguments.push_back(folder / "empty");
  arguments.push_back(kTrouser);

  const CommandResult result = vitrine(arguments);
  EXPECT_EQ(result.exit_code, 1);
  const std::vector<json> rows = parse_lines(result.out);
  ASSERT_EQ(rows.size(), bad.size() + 4) << result.out;
  EXPECT_EQ(rows.front().at("predictions").size(), 5U);
  EXPECT_EQ(rows.back().at("predictions").size(), 5U);
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const json& row = rows[i + 1];
    EXPECT_EQ(row.at("error").at("code"), bad[i].code) << row;
    EXPECT_THAT(row.at("error").at("message").get<std::string>(), HasSubstr(bad[i].name));
    EXPECT_THAT(result.err, HasSubstr(bad[i].name));
    EXPECT_FALSE(row.contains("predictions"));
  }
  EXPECT_EQ(rows[bad.size() + 1].at("error").at("code"), "image_not_found");
  EXPECT_EQ(rows[bad.size() + 2].at("error").at("code"), "no_input");
}

TEST(Classify, UnreadableFilesAreErrors) {
  TempFolder folder;
  std::filesystem::create_directory(folder / "folder.png");
  const std::string fifo = folder / "fifo.png";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const CommandResult result =
      vitrine({"classify", "-", "--format", "jsonl"}, (folder / "folder.png").native() + "\n" + fifo + "\n");
  EXPECT_EQ(result.exit_code, 1);
  for (const json& row : parse_lines(result.out))
    EXPECT_EQ(row.at("error").at("code"), "image_unreadable") << row;
}

TEST(Classify, AnyFileNameWorks) {
  TempFolder folder;
  for (const std::string name :
       {"Öß 图片 🐭.png", "[x] *?.png", "-dash.png", "new\nline.png", "\xff\xfe.png", "no extension"}) {
    std::filesystem::copy_file(kBoot, folder / name);
    const CommandResult result = vitrine({"classify", folder / name, "--format", "jsonl", "-k", "1"});
    EXPECT_EQ(result.exit_code, 0) << name << result.err;
    EXPECT_EQ(json::parse(result.out).at("predictions")[0].at("label"), "Ankle boot") << name;
  }
}

TEST(Classify, ExtremeSizesWork) {
  TempFolder folder;
  folder.write("1x1.ppm", "P6\n1 1\n255\nabc");
  folder.write("20000x1.ppm", "P6\n20000 1\n255\n" + std::string(60000, 'x'));
  folder.write("1x20000.ppm", "P6\n1 20000\n255\n" + std::string(60000, 'x'));
  const CommandResult result = vitrine({"classify", folder.path().native(), "--format", "jsonl"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(parse_lines(result.out).size(), 3U);
}

TEST(Classify, ABombIsRefusedBeforeMemoryIsTaken) {
  TempFolder folder;
  folder.write("bomb.ppm", "P6\n2000000 2000000\n255\nabc");
  const CommandResult result = vitrine({"classify", folder / "bomb.ppm", "--format", "jsonl"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(json::parse(result.out).at("error").at("code"), "image_too_large");
}

// ------------------------------------------------------------------------------------------------ usage

TEST(Usage, MistakesEndWithTwoAndNothingOnStandardOutput) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"no-such-command"},
                                                    {"classify"},
                                                    {"classify", kBoot, "--no-such-option"},
                                                    {"classify", kBoot, "--format", "xml"},
                                                    {"classify", kBoot, "-k", "0"},
                                                    {"classify", kBoot, "--precision", "fp4"},
                                                    {"classify", kBoot, "--threads", "0"},
                                                    {"classify", kBoot, "--threshold", "2"},
                                                    {"classify", kBoot, "--threshold", "nan"},
                                                    {"preprocess", kBoot},
                                                    {"run"}}) {
    const CommandResult result = vitrine(arguments);
    EXPECT_EQ(result.exit_code, 2) << ::testing::PrintToString(arguments);
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err, "");
  }
}

TEST(Usage, HelpAndVersion) {
  const CommandResult help = vitrine({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* command : {"classify", "preprocess", "run", "info", "bench"}) {
    EXPECT_THAT(help.out, HasSubstr(command));
    EXPECT_EQ(vitrine({command, "--help"}).exit_code, 0);
  }
  const CommandResult version = vitrine({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, StartsWith("vitrine "));
  for (const char* library :
       {"oneDNN 3.", "ONNX 1.", "Protobuf ", "OpenCV ", "libpng 1.", "CLI11 2.", "compiled by "})
    EXPECT_THAT(version.out, HasSubstr(library));
}

}  // namespace
}  // namespace vit::test
