#include "apps/rows.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace vit::apps {
namespace {

using nlohmann::json;

const Row kGood{
    "a.png", {{281, "tabby, tabby cat", 0.8731F}, {3, "say \"cheese\"\n日本猫", 1e-9F}}, std::nullopt};
const Row kBad{"b.png", {}, Error(ErrorCode::image_truncated, "b.png: JPEG data ends early")};
const Row kNone{"c.png", {}, std::nullopt};

std::string print(std::string_view format, const std::vector<Row>& rows) {
  const auto f = make_row_format(format);
  std::string text = f->begin();
  for (const Row& row : rows) text += f->row(row);
  return text + f->end();
}

TEST(Rows, JsonLinesRoundTrip) {
  const std::string text = print("jsonl", {kGood, kBad, kNone});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  const json row = json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(row.at("input"), "a.png");
  EXPECT_EQ(row.at("predictions")[0].at("index"), 281);
  EXPECT_EQ(row.at("predictions")[1].at("label"), "say \"cheese\"\n日本猫");
  EXPECT_EQ(row.at("predictions")[0].at("score").get<float>(), 0.8731F);  // full precision
  EXPECT_EQ(row.at("predictions")[1].at("score").get<float>(), 1e-9F);
}

TEST(Rows, ErrorRowHasCodeAndMessageAndNoPredictions) {
  EXPECT_EQ(json::parse(print("jsonl", {kBad})),
            json({{"input", "b.png"},
                  {"error", {{"code", "image_truncated"}, {"message", "b.png: JPEG data ends early"}}}}));
}

TEST(Rows, JsonIsAnArrayEvenOfNothing) {
  EXPECT_EQ(json::parse(print("json", {})), json::array());
  EXPECT_EQ(json::parse(print("json", {kGood, kBad})).size(), 2U);
}

TEST(Rows, CsvQuotesWhatNeedsIt) {
  EXPECT_EQ(print("csv", {kGood, kBad, kNone}),
            "input,rank,index,label,score,error,message\n"
            "a.png,1,281,\"tabby, tabby cat\",0.8731,,\n"
            "a.png,2,3,\"say \"\"cheese\"\"\n日本猫\",1e-09,,\n"
            "b.png,,,,,image_truncated,b.png: JPEG data ends early\n"
            "c.png,,,,,,\n");
}

TEST(Rows, TextHasFourDecimals) {
  EXPECT_EQ(print("text", {kGood, kBad, kNone}),
            "a.png\n  0.8731  tabby, tabby cat\n  0.0000  say \"cheese\"\n日本猫\n"
            "b.png\n  error (image_truncated): b.png: JPEG data ends early\n"
            "c.png\n  no label reaches the threshold\n");
}

TEST(Rows, BytesThatAreNotUtf8StillGiveJson) {
  EXPECT_EQ(json::parse(json_string("a\xff.png")), "a\uFFFD.png");
  EXPECT_EQ(json_string("tab\t\"q\" \\"), R"("tab\t\"q\" \\")");
}

}  // namespace
}  // namespace vit::apps
