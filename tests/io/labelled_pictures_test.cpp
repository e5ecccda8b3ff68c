#include "io/labelled_pictures.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"
#include "vit/file.hpp"

namespace vit::io {
namespace {

namespace fs = std::filesystem;

class LabelledPicturesIn : public ::testing::Test {
 protected:
  std::string add(const std::string& name, const std::string& text = "x") {
    const fs::path file = path() / name;
    fs::create_directories(file.parent_path());
    write_file_atomically(file, text);
    return file.native();
  }

  fs::path path() const { return folder_ / "set"; }

  /// (class, path below the folder) of all pictures.
  std::vector<std::pair<std::string, std::string>> pairs(const LabelledPictures& pictures) const {
    std::vector<std::pair<std::string, std::string>> result;
    LabelledSequence sequence(pictures);
    EXPECT_EQ(sequence.total(), static_cast<std::int64_t>(pictures.size()));
    while (const auto input = sequence.next()) {
      const auto number = static_cast<std::size_t>(pictures.class_of[result.size()]);
      result.emplace_back(pictures.classes[number], fs::relative(input->name, path()).native());
    }
    EXPECT_EQ(sequence.look_ahead(5), 0U);
    return result;
  }

 private:
  test::TempFolder folder_;
};

using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST_F(LabelledPicturesIn, AFolderHasASubFolderForEachClass) {
  for (const char* name :
       {"10/a.png", "9/b2.jpg", "9/b10.jpg", "9/deeper/c.png", "9/notes.txt", ".hidden/d.png", "README.md"})
    add(name);
  const LabelledPictures found = read_labelled_pictures(path().native());
  EXPECT_EQ(found.classes, (std::vector<std::string>{"9", "10"}));
  EXPECT_EQ(pairs(found),
            (Pairs{{"9", "9/b2.jpg"}, {"9", "9/b10.jpg"}, {"9", "9/deeper/c.png"}, {"10", "10/a.png"}}));
}

TEST_F(LabelledPicturesIn, AFolderIsRefusedWhereClassesAreUnclear) {
  add("a.png");
  EXPECT_ERROR(read_labelled_pictures(path().native()), ErrorCode::invalid_argument, "no sub-folder");
  add("cat/b.png");
  EXPECT_ERROR(read_labelled_pictures(path().native()), ErrorCode::invalid_argument, "1 beside");
  fs::remove(path() / "a.png");
  fs::create_directories(path() / "dog");
  EXPECT_ERROR(read_labelled_pictures(path().native()), ErrorCode::no_input, "dog");
  EXPECT_ERROR(read_labelled_pictures("/no/such/set"), ErrorCode::invalid_argument, "/no/such/set");
}

TEST_F(LabelledPicturesIn, AListHasPathsAndLabels) {
  EXPECT_EQ(pairs(read_labelled_pictures(add("list.csv", "a.png,cat\n\"sub/b, c.png\",dog\nd.png,cat\n"))),
            (Pairs{{"cat", "a.png"}, {"dog", "sub/b, c.png"}, {"cat", "d.png"}}));
  EXPECT_EQ(pairs(read_labelled_pictures(add("list.csv", "score,Label,PATH\n0.5,cat,a.png\n"))),
            (Pairs{{"cat", "a.png"}}));
  EXPECT_EQ(pairs(read_labelled_pictures(add("list.tsv", "path\tlabel\na,b.png\tcat\n"))),
            (Pairs{{"cat", "a,b.png"}}));
  const LabelledPictures absolute = read_labelled_pictures(add("list.csv", "/x/a.png,cat\n"));
  EXPECT_EQ(absolute.open(0).name, "/x/a.png");
}

TEST_F(LabelledPicturesIn, AListIsRefusedByItsLine) {
  const auto refuse = [&](const std::string& text, ErrorCode code, const std::string& message) {
    const std::string file = add("list.csv", text);
    EXPECT_ERROR(read_labelled_pictures(file), code, file, message);
  };
  refuse("a.png,cat\nb.png\n", ErrorCode::invalid_argument,
         "line 2: expected 2 fields (path, label), found 1");
  refuse("path,label,score\na.png,cat\n", ErrorCode::invalid_argument, "line 2: expected 3 fields, found 2");
  refuse("a.png,\n", ErrorCode::invalid_argument, "line 1: expected a path and a label");
  refuse("a.png,\"cat\n", ErrorCode::invalid_argument, "line 1: a quote is not closed");
  refuse("path,label\n", ErrorCode::no_input, "no pictures");
  refuse("", ErrorCode::no_input, "no pictures");
}

}  // namespace
}  // namespace vit::io
