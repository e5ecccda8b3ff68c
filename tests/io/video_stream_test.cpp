// Videos against what Python's OpenCV reads: tests/data/make_videos.py.
#include "io/video_stream.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/temp_folder.hpp"

namespace vit::io {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const std::string kVideos = VITRINE_TEST_DATA "/videos/";

std::vector<Input> all(PictureStream& stream) {
  std::vector<Input> inputs;
  while (std::optional<Input> input = stream.next()) inputs.push_back(std::move(*input));
  return inputs;
}

std::vector<Input> frames(const std::string& path, const FrameOptions& options = {}) {
  return all(*open_video(path, options));
}

std::vector<std::int64_t> numbers(const std::vector<Input>& inputs) {
  std::vector<std::int64_t> result;
  for (const Input& input : inputs) result.push_back(input.frame ? input.frame->number : -1);
  return result;
}

std::array<double, 3> mean(const Image& image) {
  std::array<double, 3> sums{};
  for (std::size_t i = 0; i < image.pixels.size(); ++i) sums[i % 3] += image.pixels[i];
  for (double& sum : sums) sum /= static_cast<double>(image.height * image.width);
  return sums;
}

class VideoStream : public ::testing::TestWithParam<const char*> {};

TEST_P(VideoStream, GivesTheFramesAndTimesThatPythonReads) {
  const json expected = json::parse(std::ifstream(kVideos + "expected.json")).at(GetParam());
  const std::vector<Input> inputs = frames(kVideos + GetParam());
  ASSERT_EQ(inputs.size(), expected.at("frames").size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = inputs[i];
    ASSERT_FALSE(input.error) << input.error->what();
    ASSERT_TRUE(input.image);
    EXPECT_EQ(input.name, kVideos + GetParam());
    EXPECT_EQ(input.frame->number, static_cast<std::int64_t>(i));
    EXPECT_NEAR(input.frame->seconds, expected.at("frames")[i].at("seconds").get<double>(), 2e-6) << i;
    EXPECT_EQ(input.image->height, expected.at("height"));
    EXPECT_EQ(input.image->width, expected.at("width"));
    const auto got = mean(*input.image);
    for (std::size_t c = 0; c < 3; ++c)  // another version of the colour conversion may round otherwise
      EXPECT_NEAR(got[c], expected.at("frames")[i].at("mean")[c].get<double>(), 1) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, VideoStream,
                         ::testing::Values("clip.mp4", "rate.webm", "variable.mkv", "turned.mp4"),
                         [](const auto& param) {
                           return std::string(param.param, 0, std::string(param.param).find('.'));
                         });

TEST(VideoFrames, AreChosenByNumberAndTime) {
  const std::string clip = kVideos + "clip.mp4";
  EXPECT_EQ(numbers(frames(clip, {.every = 20})), (std::vector<std::int64_t>{0, 20, 40}));
  EXPECT_EQ(numbers(frames(clip, {.start = 1.9})), (std::vector<std::int64_t>{48, 49}));
  EXPECT_EQ(numbers(frames(clip, {.every = {}, .start = 0, .end = 0.1})),
            (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(numbers(frames(clip, {.every = 4, .start = 0.2, .end = 0.5})),
            (std::vector<std::int64_t>{8, 12}));
}

TEST(VideoFrames, NoneLeftIsAnErrorThatSaysWhy) {
  const std::vector<Input> inputs = frames(kVideos + "clip.mp4", {.start = 99});
  ASSERT_EQ(inputs.size(), 1U);
  ASSERT_TRUE(inputs[0].error);
  EXPECT_EQ(inputs[0].error->code(), ErrorCode::no_input);
  EXPECT_THAT(inputs[0].error->what(), HasSubstr("up to second 1.960"));
}

TEST(VideoFrames, RemainingIsWhatTheContainerSays) {
  const auto stream = open_video(kVideos + "clip.mp4", {.every = 10});
  EXPECT_FALSE(stream->remaining()) << "it is not open yet";
  ASSERT_TRUE(stream->next());
  EXPECT_EQ(stream->remaining(), 5);  // of 49 more the ones at 10, 20, 30, 40; about
  ASSERT_TRUE(stream->next());
  EXPECT_EQ(stream->remaining(), 4);
}

TEST(VideoFrames, DamagedVideosAreErrors) {
  const test::TempFolder folder;
  const std::string mp4 = test::read_text(kVideos + "clip.mp4");
  const std::string webm = test::read_text(kVideos + "rate.webm");
  for (const auto& [name, content, text] :
       {std::tuple("empty.mp4", std::string(), "cannot be opened"),
        std::tuple("text.mp4", std::string("no video\n"), "cannot be opened"),
        std::tuple("cut.mp4", mp4.substr(0, mp4.size() / 2), "cannot be opened")}) {
    const std::string path = folder.write(name, content);
    const std::vector<Input> inputs = frames(path);
    ASSERT_EQ(inputs.size(), 1U) << name;
    ASSERT_TRUE(inputs[0].error) << name;
    EXPECT_THAT(inputs[0].error->what(), HasSubstr(text));
    EXPECT_THAT(inputs[0].error->what(), HasSubstr(path));
  }
  // A container that says its length in front gives what is there, then says that it ends early.
  const std::vector<Input> cut = frames(folder.write("cut.webm", webm.substr(0, webm.size() / 2)));
  ASSERT_GT(cut.size(), 1U);
  EXPECT_FALSE(cut.front().error);
  ASSERT_TRUE(cut.back().error);
  EXPECT_EQ(cut.back().error->code(), ErrorCode::image_truncated);
}

TEST(Camera, IsNamedByItsNumber) {
  EXPECT_EQ(camera_number("camera:0"), 0);
  EXPECT_EQ(camera_number("camera:12"), 12);
  for (const char* name :
       {"camera:", "camera:-1", "camera:x", "camera:1x", "camera", "acamera:1", "camera:99999999999"})
    EXPECT_FALSE(camera_number(name)) << name;
}

TEST(Camera, ThatIsNotThereIsAnError) {
  const std::vector<Input> inputs = all(*open_camera("camera:97", {}));
  ASSERT_EQ(inputs.size(), 1U);
  ASSERT_TRUE(inputs[0].error);
  EXPECT_THAT(inputs[0].error->what(), HasSubstr("camera:97: there is no such camera"));
}

}  // namespace
}  // namespace vit::io
