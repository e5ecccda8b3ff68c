#include "apps/rows.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace vit::apps {
namespace {

using nlohmann::json;

const Row kGood{
    "a.png", {}, {{281, "tabby, tabby cat", 0.8731F}, {3, "say \"cheese\"\n日本猫", 1e-9F}}, std::nullopt};
const Row kBad{"b.png", {}, {}, Error(ErrorCode::image_truncated, "b.png: JPEG data ends early")};
const Row kNone{"c.png", {}, {}, std::nullopt};

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
            "input,rank,index,label,score,error,message,frame,seconds\n"
            "a.png,1,281,\"tabby, tabby cat\",0.8731,,,,\n"
            "a.png,2,3,\"say \"\"cheese\"\"\n日本猫\",1e-09,,,,\n"
            "b.png,,,,,image_truncated,b.png: JPEG data ends early,,\n"
            "c.png,,,,,,,,\n");
}

TEST(Rows, FramesHaveTheirPlace) {
  Row frame{"clip.mp4", io::FramePosition{12, 0.48}, {{1, "cat", 0.5F}}, {}};
  EXPECT_EQ(
      print("jsonl", {frame}),
      "{\"input\":\"clip.mp4\",\"frame\":12,\"seconds\":0.48,\"predictions\":[{\"index\":1,\"label\":\"cat\","
      "\"score\":0.5}]}\n");
  EXPECT_EQ(print("text", {frame}), "clip.mp4  frame 12, 0.480 s\n  0.5000  cat\n");
  EXPECT_EQ(print("csv", {frame}),
            "input,rank,index,label,score,error,message,frame,seconds\nclip.mp4,1,1,cat,0.5,,,12,0.48\n");
  frame.error = Error(ErrorCode::image_corrupt, "no");
  EXPECT_EQ(print("jsonl", {frame}),
            "{\"input\":\"clip.mp4\",\"frame\":12,\"seconds\":0.48,\"error\":{\"code\":\"image_corrupt\","
            "\"message\":\"no\"}}\n");
}

TEST(Rows, ColourIsOnlyForText) {
  const std::string text = make_row_format("text", true)->row(kGood);
  EXPECT_EQ(text.find("\033[1ma.png\033[0m\n  \033[32m0.8731  tabby"), 0U) << text;
  EXPECT_EQ(make_row_format("jsonl", true)->row(kGood), make_row_format("jsonl")->row(kGood));
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
