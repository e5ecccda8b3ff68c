#include "apps/resume.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::apps {
namespace {

using ::testing::HasSubstr;

Row row_of(const std::string& input, float score = 0.75F) {
  return {input, {}, {{3, "cat", score}, {1, "dog", 0.125F}}, {}};
}

Row failed_row(const std::string& input) {
  return {input, {}, {}, Error(ErrorCode::image_not_found, input + ": no such file")};
}

std::string text_of(const std::vector<Row>& rows) {
  const auto format = make_row_format("jsonl");
  std::string text;
  for (const Row& row : rows) text += format->row(row);
  return text;
}

TEST(Resume, TakesTheInputsOfEarlierRowsButTheLast) {
  const test::TempFolder folder;
  const std::string first = text_of({row_of("a"), failed_row("b\xff")});
  const auto file = folder.write("rows", first + text_of({row_of("c")}) + "{\"input\":\"d");
  io::InputSource inputs({"a", "b\xff", "c", "d"}, {});
  std::vector<std::string> skipped;
  const EarlierRows earlier =
      skip_earlier_rows(file, inputs, [&](const io::Input& input) { skipped.push_back(input.name); });
  EXPECT_EQ(skipped, (std::vector<std::string>{"a", "b\xff"}));
  EXPECT_EQ(earlier.bytes, first.size());
  EXPECT_EQ(earlier.rows, 2);
  EXPECT_EQ(earlier.failures, 1);
  ASSERT_TRUE(earlier.last);
  EXPECT_EQ(earlier.last->input, "c");
  EXPECT_EQ(inputs.next()->name, "c");
}

TEST(Resume, KnowsFrames) {
  const test::TempFolder folder;
  const std::string clip = VITRINE_TEST_DATA "/videos/clip.mp4";
  Row frame = row_of(clip);
  frame.frame = {0, 0.0};
  Row next = frame;
  next.frame = {20, 0.8};
  const auto file = folder.write("rows", text_of({frame, next}));
  io::InputSource inputs({clip}, {.frames = {.every = 20}});
  EXPECT_EQ(skip_earlier_rows(file, inputs).rows, 1);
  io::InputSource others({clip}, {.frames = {.every = 10, .start = 0.1}});
  EXPECT_ERROR(skip_earlier_rows(file, others), ErrorCode::invalid_argument, "line 1", "frame 10");
}

TEST(Resume, OfNothingIsTheBeginning) {
  const test::TempFolder folder;
  for (const char* content : {"", "{\"input\":\"a\",\"pred"}) {
    io::InputSource inputs({"a"}, {});
    const EarlierRows earlier = skip_earlier_rows(folder.write("rows", content), inputs);
    EXPECT_EQ(earlier.bytes, 0U);
    EXPECT_FALSE(earlier.last);
    EXPECT_EQ(inputs.next()->name, "a");
  }
}

TEST(Resume, RefusesOtherInputs) {
  const test::TempFolder folder;
  const auto file = folder.write("rows", text_of({row_of("a"), row_of("b"), row_of("c")}));
  io::InputSource others({"a", "x", "c"}, {});
  EXPECT_ERROR(skip_earlier_rows(file, others), ErrorCode::invalid_argument, "line 2", "about b", "is x",
               file.string());
  io::InputSource fewer({"a"}, {});
  EXPECT_ERROR(skip_earlier_rows(file, fewer), ErrorCode::invalid_argument, "only 1 inputs");
}

TEST(Resume, RefusesWhatIsNoRow) {
  const test::TempFolder folder;
  for (const char* line : {"no json\n", "[1]\n", "{\"input\":7,\"predictions\":[]}\n", "{\"input\":\"a\"}\n",
                           "{\"input\":\"a\",\"predictions\":[{}]}\n", "\n"}) {
    io::InputSource inputs({"a"}, {});
    EXPECT_ERROR(skip_earlier_rows(folder.write("rows", line), inputs), ErrorCode::invalid_argument, "line 1",
                 "no row");
  }
}

TEST(Resume, TheLastRowMustComeOutTheSame) {
  const std::filesystem::path file = "out.jsonl.partial";
  EXPECT_NO_THROW(require_same(row_of("a"), row_of("a", 0.75001F), file));
  EXPECT_NO_THROW(require_same(failed_row("a"), failed_row("a"), file));
  Row fewer = row_of("a");
  fewer.predictions.pop_back();
  Row other_label = row_of("a");
  other_label.predictions[0].label = "Cat";
  for (const Row& other : {row_of("a", 0.7F), fewer, other_label, failed_row("a"), row_of("b")})
    EXPECT_ERROR(require_same(row_of("a"), other, file), ErrorCode::invalid_argument, file.string());
}

}  // namespace
}  // namespace vit::apps
