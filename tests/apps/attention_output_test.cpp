#include "apps/attention_output.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::apps {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;

const std::vector<AttentionFile> kOneFile{{.suffix = "block1.mean.png"}};
const std::vector<AttentionFile> kTwoFiles{{.suffix = "block1.mean.png"}, {.suffix = "block1.mean.npy"}};

AttentionOutput output_to(const fs::path& path, const InputArguments& inputs = {{"cat.jpg"}},
                          const std::vector<AttentionFile>& files = kOneFile) {
  return AttentionOutput({path.native()}, inputs, files);
}

TEST(AttentionOutput, AFolderIsMade) {
  const TempFolder folder;
  const AttentionOutput output = output_to(folder / "a/b");
  EXPECT_TRUE(fs::is_directory(folder / "a/b"));
  EXPECT_EQ(output.paths("cat", kTwoFiles),
            (std::vector<fs::path>{folder / "a/b/cat.block1.mean.png", folder / "a/b/cat.block1.mean.npy"}));
}

TEST(AttentionOutput, OneFileIsForOnePicture) {
  const TempFolder folder;
  EXPECT_EQ(output_to(folder / "x.png").paths("cat", kOneFile), (std::vector<fs::path>{folder / "x.png"}));
  EXPECT_FALSE(fs::exists(folder / "x.png"));
  const auto code = ErrorCode::invalid_argument;
  EXPECT_ERROR(output_to(folder / "x.png", {{"a.jpg", "b.jpg"}}), code, "x.png", "one picture");
  EXPECT_ERROR(output_to(folder / "x.png", {{"-"}}), code, "one picture");
  EXPECT_ERROR(output_to(folder / "x.png", {{folder.path().native()}}), code, "one picture");
  EXPECT_ERROR(output_to(folder / "x.png", {{"a.jpg"}}, kTwoFiles), code, "2 files");
  EXPECT_ERROR(output_to(folder / "x.npy"), code, "x.npy", ".png file");
  EXPECT_ERROR(output_to(folder / "x.jpg"), code, "x.jpg", ".png file");
  EXPECT_ERROR(output_to(""), code, "-o");
  EXPECT_ERROR(output_to("-"), code, "-o");
}

TEST(AttentionOutput, AFolderMayBeCalledLikeAFile) {
  const TempFolder folder;
  fs::create_directory(folder / "x.png");
  EXPECT_EQ(output_to(folder / "x.png").paths("cat", kOneFile),
            (std::vector<fs::path>{folder / "x.png/cat.block1.mean.png"}));
}

TEST(AttentionOutput, SaysWhyAFolderCannotBeMade) {
  const TempFolder folder;
  folder.write("file", "");
  EXPECT_ERROR(output_to(folder / "file"), ErrorCode::output_unwritable, "file", "cannot be made");
  EXPECT_ERROR(output_to(folder / "file/x"), ErrorCode::output_unwritable, "file/x", "cannot be made");
}

TEST(AttentionOutput, NeverGoesWherePicturesAreRead) {
  const TempFolder folder;
  fs::create_directories(folder / "in/out");
  const std::string in = folder / "in";
  const auto code = ErrorCode::invalid_argument;
  EXPECT_ERROR(output_to(folder / "in", {{in}}), code, "read as inputs");
  EXPECT_ERROR(output_to(folder / "in/../in/", {{in}}), code, "read as inputs");
  EXPECT_ERROR(output_to(folder / "in/out", {{in}, true}), code, "read as inputs");
  EXPECT_ERROR(output_to(folder / "in/new/newer", {{in}, true}), code, "read as inputs");
  EXPECT_FALSE(fs::exists(folder / "in/new"));
  output_to(folder / "in/out", {{in}});  // not recursive: what appears there is not read
  output_to(folder / "in", {{in + "/cat.jpg"}});
}

TEST(AttentionOutput, ReplacesNothingUnlessForcedAndNeverWhatIsRead) {
  const TempFolder folder;
  const fs::path cat = folder.write("cat.png", "");
  const fs::path other = folder.write("other.png", "");
  const fs::path model = folder.write("model.png", "");
  const std::string input = cat.native();
  AttentionOutput careful({folder.path().native()}, {{input}}, kOneFile);
  careful.check_free({folder / "new.png"}, input);
  EXPECT_ERROR(careful.check_free({folder / "new.png", other}, input), ErrorCode::output_unwritable,
               "cat.png", "other.png exists already", "--force");
  AttentionOutput forced({folder.path().native(), true}, {{input}}, kOneFile);
  forced.protect({model});
  forced.check_free({folder / "new.png", other}, input);
  EXPECT_ERROR(forced.check_free({cat}, input), ErrorCode::invalid_argument, "cat.png", "destroyed");
  EXPECT_ERROR(forced.check_free({model}, input), ErrorCode::invalid_argument, "model.png", "destroyed");
}

}  // namespace
}  // namespace vit::apps
