#include "io/inputs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace vit::io {
namespace {

namespace fs = std::filesystem;

class InputsTest : public ::testing::Test {
 protected:
  InputsTest() : folder_(fs::temp_directory_path() / ("vitrine_inputs_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~InputsTest() override { fs::remove_all(folder_); }

  std::string make(const std::string& name) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "x";
    return path.native();
  }

  std::vector<Input> all(std::vector<std::string> arguments, InputOptions options = {}) {
    InputSource source(std::move(arguments), options);
    std::vector<Input> inputs;
    while (std::optional<Input> input = source.next()) inputs.push_back(*input);
    return inputs;
  }

  std::vector<std::string> names(std::vector<std::string> arguments, InputOptions options = {}) {
    std::vector<std::string> result;
    for (const Input& input : all(std::move(arguments), options)) {
      EXPECT_FALSE(input.error) << input.error->what();
      result.push_back(input.name.starts_with(folder_.native())
                           ? input.name.substr(folder_.native().size() + 1)
                           : input.name);
    }
    return result;
  }

  fs::path folder_;
};

using Names = std::vector<std::string>;

TEST_F(InputsTest, FilesArePassedOnUnseenAndInOrder) {
  EXPECT_EQ(names({"b.png", "no such file", "a.txt"}), (Names{"b.png", "no such file", "a.txt"}));
}

TEST_F(InputsTest, FolderGivesPicturesInNaturalOrder) {
  for (const char* name :
       {"img10.jpg", "img2.JPG", "img1.png", "notes.txt", ".hidden.png", "sub/deep.png", "Ünïcode 图.webp"}) {
    make(name);
  }
  EXPECT_EQ(names({folder_.native()}), (Names{"img1.png", "img2.JPG", "img10.jpg", "Ünïcode 图.webp"}));
}

TEST_F(InputsTest, ADanglingLinkWithThatNameIsNotLost) {
  make("1.png");
  fs::create_symlink("nowhere", folder_ / "2.png");
  EXPECT_EQ(names({folder_.native()}), (Names{"1.png", "2.png"}));
}

TEST_F(InputsTest, RecursiveFolderSkipsHiddenFoldersAndLinkedFolders) {
  make("a/1.png");
  make("b/c/2.png");
  make(".ipynb_checkpoints/3.png");
  fs::create_directory_symlink(folder_, folder_ / "b" / "loop");
  EXPECT_EQ(names({folder_.native()}, {.recursive = true}), (Names{"a/1.png", "b/c/2.png"}));
}

TEST_F(InputsTest, FolderWithoutPicturesIsOneErrorThatSaysWhatToDo) {
  make("sub/1.png");
  make("readme.txt");
  const std::vector<Input> inputs = all({folder_.native()});
  ASSERT_EQ(inputs.size(), 1U);
  ASSERT_TRUE(inputs[0].error);
  EXPECT_EQ(inputs[0].error->code(), ErrorCode::no_input);
  EXPECT_NE(std::string(inputs[0].error->what()).find(folder_.native()), std::string::npos);
  EXPECT_NE(std::string(inputs[0].error->what()).find("-r looks into folders"), std::string::npos);
}

TEST_F(InputsTest, EmptyFolderIsAnError) {
  const std::vector<Input> inputs = all({folder_.native()});
  ASSERT_EQ(inputs.size(), 1U);
  ASSERT_TRUE(inputs[0].error);
  EXPECT_EQ(inputs[0].error->code(), ErrorCode::no_input);
  EXPECT_NE(std::string(inputs[0].error->what()).find("it is empty"), std::string::npos);
}

TEST_F(InputsTest, ListIsReadLineByLine) {
  std::istringstream list("a.png\r\n\nb with space.png\nlast");
  EXPECT_EQ(names({"first", "-", "after"}, {.list = &list}),
            (Names{"first", "a.png", "b with space.png", "last", "after"}));
}

/// A stream that gives what has come and then waits: reading on fails the test.
class SlowList : public std::streambuf {
 public:
  void come(const std::string& text) { arrived_ += text; }

 protected:
  std::streamsize showmanyc() override { return std::ssize(arrived_); }
  int_type underflow() override {
    EXPECT_FALSE(arrived_.empty()) << "waits for what has not come";
    if (arrived_.empty()) return traits_type::eof();
    buffer_ = std::exchange(arrived_, {});
    setg(buffer_.data(), buffer_.data(), buffer_.data() + buffer_.size());
    return traits_type::to_int_type(buffer_.front());
  }

 private:
  std::string arrived_;
  std::string buffer_;
};

TEST_F(InputsTest, LookAheadCountsTheLinesOfAListThatHaveCome) {
  SlowList buffer;
  std::istream list(&buffer);
  InputSource source({"first.png", "-", "last.png"}, {.list = &list});
  EXPECT_EQ(source.look_ahead(10), 1U);
  EXPECT_EQ(source.next()->name, "first.png");
  EXPECT_EQ(source.look_ahead(10), 0U);
  buffer.come("a.png\nb.png\nc.p");
  EXPECT_EQ(source.next()->name, "a.png");  // with half of a line there already
  EXPECT_EQ(source.look_ahead(10), 1U);
  EXPECT_EQ(source.next()->name, "b.png");
  buffer.come("ng\r\n\nd.png\n");
  EXPECT_EQ(source.look_ahead(1), 1U);
  EXPECT_EQ(source.look_ahead(10), 2U);
  EXPECT_EQ(source.next()->name, "c.png");
  EXPECT_EQ(source.next()->name, "d.png");
}

TEST_F(InputsTest, LookAheadCountsWhatIsCertain) {
  InputSource source({"a", "b", "c"}, {});
  EXPECT_EQ(source.look_ahead(2), 2U);
  EXPECT_EQ(source.look_ahead(9), 3U);
  EXPECT_EQ(source.next()->name, "a");
  EXPECT_EQ(source.look_ahead(9), 2U);
}

TEST_F(InputsTest, APatternStandsForWhatItMatches) {
  for (const char* name : {"img10.jpg", "img2.jpg", "sub/deep.png"}) make(name);
  EXPECT_EQ(names({"first", folder_.native() + "/*", "last"}),
            (Names{"first", "img2.jpg", "img10.jpg", "sub/deep.png", "last"}));
}

TEST_F(InputsTest, AFileWinsOverAPattern) {
  const std::string literal = make("img[1].png");
  make("img1.png");
  EXPECT_EQ(names({literal}), (Names{"img[1].png"}));
}

TEST_F(InputsTest, APatternThatMatchesNothingIsAnError) {
  const std::vector<Input> inputs = all({folder_.native() + "/*.jpg"});
  ASSERT_EQ(inputs.size(), 1U);
  ASSERT_TRUE(inputs[0].error);
  EXPECT_EQ(inputs[0].error->code(), ErrorCode::no_input);
  EXPECT_NE(std::string(inputs[0].error->what()).find("none that matches"), std::string::npos);
}

TEST_F(InputsTest, AListIsOfFilesNotOfPatternsOrFolders) {
  make("img1.png");
  std::istringstream list(folder_.native() + "/*.png\n" + folder_.native() + "\n-\n");
  Names found;
  for (const Input& input : all({"-"}, {.list = &list})) found.push_back(input.name);
  EXPECT_EQ(found, (Names{folder_.native() + "/*.png", folder_.native(), "-"}));
}

TEST_F(InputsTest, VideosGiveTheirFramesAlsoInAList) {
  const std::string clip = VITRINE_TEST_DATA "/videos/clip.mp4";
  std::istringstream list("a.png\n" + clip + "\nb.png\n");
  const std::vector<Input> inputs = all({"-", clip}, {.list = &list, .frames = {.every = 30}});
  ASSERT_EQ(inputs.size(), 6U);
  EXPECT_EQ(describe(inputs[0]), "a.png");
  EXPECT_EQ(describe(inputs[1]), clip + ", frame 0");
  EXPECT_EQ(describe(inputs[2]), clip + ", frame 30");
  EXPECT_EQ(describe(inputs[3]), "b.png");
  EXPECT_EQ(describe(inputs[5]), clip + ", frame 30");
}

TEST_F(InputsTest, FewFramesAreAheadInMemory) {
  InputSource source({VITRINE_TEST_DATA "/videos/clip.mp4"}, {});
  EXPECT_EQ(source.look_ahead(40), 8U);
  EXPECT_EQ(source.next()->frame->number, 0);
}

TEST_F(InputsTest, ShardsShareTheInputsOut) {
  std::vector<std::string> together(10);
  for (std::int64_t number = 1; number <= 3; ++number) {
    std::vector<std::string> names_of_all;
    for (int i = 0; i < 10; ++i) names_of_all.push_back(std::to_string(i));
    const Names shard = names(names_of_all, {.shard = {number, 3}});
    EXPECT_EQ(shard.size(), number == 1 ? 4U : 3U);
    for (std::size_t i = 0; i < shard.size(); ++i)
      together[static_cast<std::size_t>(number - 1) + 3 * i] = shard[i];
  }
  EXPECT_EQ(together, (Names{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}));
}

TEST_F(InputsTest, TotalIsKnownOnceAllArgumentsAreSeen) {
  for (const char* name : {"1.png", "2.png", "3.png"}) make(name);
  InputSource source({"a", folder_.native()}, {});
  EXPECT_FALSE(source.total());
  source.next();
  EXPECT_FALSE(source.total()) << "a folder is not read before its turn";
  source.next();
  EXPECT_EQ(source.total(), 4);
  source.look_ahead(2);
  source.next();
  EXPECT_EQ(source.total(), 4);
}

}  // namespace
}  // namespace vit::io
