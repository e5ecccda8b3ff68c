#include "io/glob.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_folder.hpp"

namespace vit::io {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class GlobTest : public ::testing::Test {
 protected:
  GlobTest() {
    for (const char* name : {"img10.jpg", "img2.jpg", "img1.png", "[x].png", ".hidden.jpg", "a/one.jpg",
                             "a/b/two.jpg", "a/b/three.png", ".git/four.jpg", "über.jpg"}) {
      fs::create_directories((folder_ / name).parent_path());
      folder_.write(name, "x");
    }
    fs::create_directory_symlink(folder_.path(), folder_ / "a" / "loop");
  }

  std::vector<std::string> expand(const std::string& pattern) {
    std::vector<std::string> found = expand_glob((folder_ / pattern).native());
    for (std::string& name : found) name = name.substr(folder_.path().native().size() + 1);
    return found;
  }

  test::TempFolder folder_;
};

TEST_F(GlobTest, MatchesAsAShellDoesInNaturalOrder) {
  EXPECT_THAT(expand("img*.jpg"), ElementsAre("img2.jpg", "img10.jpg"));
  EXPECT_THAT(expand("img?.*"), ElementsAre("img1.png", "img2.jpg"));
  EXPECT_THAT(expand("img[12].[jp]*"), ElementsAre("img1.png", "img2.jpg"));
  EXPECT_THAT(expand("img[!1].jpg"), ElementsAre("img2.jpg"));
  EXPECT_THAT(expand("*/*.jpg"), ElementsAre("a/one.jpg"));
  EXPECT_THAT(expand("a*"), ElementsAre("a"));
  EXPECT_THAT(expand("ü*"), ElementsAre("über.jpg"));
}

TEST_F(GlobTest, HiddenOnesMustBeNamed) {
  EXPECT_THAT(expand("*hidden*"), IsEmpty());
  EXPECT_THAT(expand(".h*.jpg"), ElementsAre(".hidden.jpg"));
  EXPECT_THAT(expand(".g*/*"), ElementsAre(".git/four.jpg"));
}

TEST_F(GlobTest, TwoStarsStandForAnyFolders) {
  EXPECT_THAT(expand("**/*.png"), ElementsAre("[x].png", "a/b/three.png", "img1.png"));
  EXPECT_THAT(expand("a/**/*.jpg"), ElementsAre("a/b/two.jpg", "a/one.jpg"));
  EXPECT_THAT(expand("a/**"), ElementsAre("a/b/three.png", "a/b/two.jpg", "a/one.jpg"));
}

TEST_F(GlobTest, WhatIsNotThereMatchesNothing) {
  EXPECT_THAT(expand("*.gif"), IsEmpty());
  EXPECT_THAT(expand("no/such/*"), IsEmpty());
  EXPECT_THAT(expand("img1.png/*"), IsEmpty());
}

TEST(IsGlob, SeesTheCharactersOfPatterns) {
  for (const char* name : {"*.png", "a?.png", "a[1].png"}) EXPECT_TRUE(is_glob(name)) << name;
  for (const char* name : {"a.png", "a]b.png", "{a,b}.png", ""}) EXPECT_FALSE(is_glob(name)) << name;
}

}  // namespace
}  // namespace vit::io
