// Animations against what Pillow shows: tests/data/make_animations.py.
#include "io/animation_stream.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/inputs.hpp"
#include "io/picture_session.hpp"
#include "tests/io/preprocess_data.hpp"
#include "tests/support/temp_folder.hpp"
#include "vit/file.hpp"

namespace vit::io {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// More of them, made by the script, may be looked at with VITRINE_ANIMATIONS.
std::string folder() {
  const char* other = std::getenv("VITRINE_ANIMATIONS");
  return other != nullptr ? other : VITRINE_TEST_DATA "/animations";
}

std::vector<Input> frames(const std::string& path, const FrameOptions& options = {.every = 1}) {
  const auto stream = open_animation_stream(path, options);
  std::vector<Input> inputs;
  while (std::optional<Input> input = stream->next()) inputs.push_back(std::move(*input));
  return inputs;
}

std::string bytes_of(const std::string& path) {
  const std::vector<std::byte> bytes = read_file(path, 1 << 20, FileErrors::image());
  return std::string(as_text(bytes));
}

TEST(AnimationStream, GivesTheFramesAndTimesThatPillowShows) {
  const json expected = json::parse(std::ifstream(folder() + "/expected.json"));
  EXPECT_GE(expected.size(), 28U);
  for (const auto& [name, shown] : expected.items()) {
    const std::string path = folder() + "/" + name;
    const std::vector<Input> inputs = frames(path);
    ASSERT_EQ(inputs.size(), shown.size()) << name;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      ASSERT_FALSE(inputs[i].error) << inputs[i].error->what();
      const Image image = load_picture(inputs[i], {});
      EXPECT_EQ(inputs[i].name, path);
      EXPECT_EQ(inputs[i].frame->number, static_cast<std::int64_t>(i)) << name;
      EXPECT_NEAR(inputs[i].frame->seconds, shown[i].at("seconds").get<double>(), 1e-6) << name;
      EXPECT_EQ((json{image.height, image.width}), shown[i].at("size")) << name << " frame " << i;
      EXPECT_EQ(test::hash_of(image.pixels), shown[i].at("hash")) << name << " frame " << i;
    }
  }
}

TEST(AnimationStream, EveryStartAndEndChooseFrames) {
  const std::string path = folder() + "/00.webp";  // 4 frames
  const auto numbers = [&](const FrameOptions& options) {
    std::vector<std::int64_t> result;
    for (const Input& input : frames(path, options)) result.push_back(input.frame ? input.frame->number : -1);
    return result;
  };
  const double second = frames(path).at(1).frame->seconds;
  EXPECT_EQ(numbers({.every = 2}), (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(numbers({.every = 3}), (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(numbers({.every = 1, .start = second}), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(numbers({.every = 1, .end = second}), (std::vector<std::int64_t>{0}));
  const std::vector<Input> none = frames(path, {.every = 1, .start = 100});
  ASSERT_EQ(none.size(), 1U);
  EXPECT_EQ(none[0].error->code(), ErrorCode::no_input);
  EXPECT_THAT(none[0].error->what(),
              HasSubstr("00.webp: no frame is left by --start and --end; 4 were read"));
}

TEST(AnimationStream, APictureThatDoesNotMoveIsNoFrame) {
  const test::TempFolder temp;
  const std::string gif = bytes_of(folder() + "/00.gif");
  const std::string png = bytes_of(VITRINE_DATA "/images/fashion-mnist/0000-ankle-boot.png");
  const std::string text = "no picture";
  for (const std::string& content : {png, text, std::string()}) {
    const std::vector<Input> inputs = frames(temp.write("x.gif", content));
    ASSERT_EQ(inputs.size(), 1U);
    EXPECT_FALSE(inputs[0].frame);
    if (content == png) {
      EXPECT_EQ(load_picture(inputs[0], {}).height, 28);
    } else {
      EXPECT_TRUE(inputs[0].error);
      EXPECT_THAT(inputs[0].error->what(), HasSubstr("x.gif"));
    }
  }
}

TEST(AnimationStream, WhatIsCutOffGivesTheFramesBeforeAndAnError) {
  const test::TempFolder temp;
  for (const std::string name : {"09.gif", "10.gif", "00.webp"}) {
    const std::string content = bytes_of(folder() + "/" + name);
    const std::size_t whole = frames(folder() + "/" + name).size();
    for (std::size_t size = 0; size < content.size(); size += 7) {
      const std::vector<Input> inputs = frames(temp.write(name, content.substr(0, size)));
      ASSERT_FALSE(inputs.empty());
      ASSERT_LE(inputs.size(), whole);
      for (std::size_t i = 0; i + 1 < inputs.size(); ++i) EXPECT_FALSE(inputs[i].error);
      EXPECT_TRUE(inputs.back().error || !inputs.back().frame || size > content.size() / 2) << name << size;
    }
  }
}

TEST(AnimationStream, DamagedFilesEnd) {
  const test::TempFolder temp;
  for (const std::string name : {"09.gif", "01.webp"}) {
    const std::string content = bytes_of(folder() + "/" + name);
    for (std::size_t at = 0; at < content.size(); at += 3) {
      std::string damaged = content;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
      for (Input& input : frames(temp.write(name, damaged))) {
        if (input.error || input.image) continue;
        try {
          load_picture(std::move(input), {});
        } catch (const Error&) {  // of a picture that does not move any more
        }
      }
    }
  }
}

TEST(AnimationStream, OnlyEveryMakesFrames) {
  const std::string path = folder() + "/00.gif";
  InputSource still({path}, {});
  EXPECT_FALSE(still.next()->frame);
  EXPECT_FALSE(still.next());
  InputSource moving({path}, {.frames = {.every = 1}});
  EXPECT_EQ(moving.next()->frame->number, 0);
  EXPECT_EQ(moving.next()->frame->number, 1);
}

}  // namespace
}  // namespace vit::io
