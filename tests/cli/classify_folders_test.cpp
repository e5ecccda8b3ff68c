// vitrine classify --sort-into, --sort-with and --annotate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "io/image.hpp"
#include "tests/cli/command.hpp"

namespace vit::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Files = std::set<std::string>;

const std::string kPictures = VITRINE_DATA "/images/fashion-mnist";
const std::string kBoot = kPictures + "/0000-ankle-boot.png";
const std::string kClip = VITRINE_TEST_DATA "/videos/clip.mp4";

/// All files and links below a folder, hidden ones too.
Files files_in(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (!entry.is_directory()) files.insert(entry.path().lexically_relative(folder));
  return files;
}

io::Image read_picture(const fs::path& path) {
  const std::string bytes = read_text(path);
  return io::decode_image(std::as_bytes(std::span(bytes)), path.native());
}

/// What each row says: LABEL/NAME.
Files expected_files(const CommandResult& result) {
  Files files;
  for (const nlohmann::json& row : nlohmann::json::parse(result.out)) {
    std::string label = row.at("predictions").at(0).at("label");
    std::replace(label.begin(), label.end(), '/', '_');
    files.insert(label + "/" + fs::path(row.at("input").get<std::string>()).filename().native());
  }
  return files;
}

TEST(ClassifySort, LinksEachPictureIntoTheFolderOfItsLabel) {
  const TempFolder folder;
  const CommandResult result =
      vitrine({"classify", kPictures, "--format", "json", "--sort-into", folder / "sorted"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Files files = files_in(folder / "sorted");
  EXPECT_EQ(files, expected_files(result));
  EXPECT_TRUE(files.contains("Ankle boot/0000-ankle-boot.png"));
  for (const std::string& file : files) {
    EXPECT_TRUE(fs::is_symlink(folder / ("sorted/" + file))) << file;
    EXPECT_TRUE(fs::equivalent(folder / ("sorted/" + file), fs::path(kPictures) / fs::path(file).filename()));
  }
}

TEST(ClassifySort, CopiesOnRequest) {
  const TempFolder folder;
  const CommandResult result = vitrine(
      {"classify", kPictures, "--format", "json", "--sort-into", folder / "sorted", "--sort-with", "copy"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(files_in(folder / "sorted"), expected_files(result));
  const fs::path copy = folder / "sorted/Ankle boot/0000-ankle-boot.png";
  EXPECT_FALSE(fs::is_symlink(copy));
  EXPECT_EQ(read_text(copy), read_text(kBoot));
}

TEST(ClassifySort, LinksOfRelativePathsLeadToThePictures) {
  const TempFolder folder;
  fs::create_directory(folder / "in");
  fs::copy_file(kBoot, folder / "in/boot.png");
  const CommandResult result = vitrine_behind("cd '" + folder.path().native() + "'",
                                              {"classify", "in/boot.png", "--sort-into", "deep/er/out"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read_text(folder / "deep/er/out/Ankle boot/boot.png"), read_text(kBoot));
}

TEST(ClassifySort, TakesPicturesOutOfArchivesAndVideos) {
  const TempFolder folder;
  const std::string tar = folder / "boots.tar";
  ASSERT_EQ(std::system(("tar cf '" + tar + "' -C '" + kPictures + "' 0000-ankle-boot.png").c_str()), 0);
  const CommandResult result =
      vitrine({"classify", tar, kClip, "--every", "25", "--sort-into", folder / "sorted"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read_text(folder / "sorted/Ankle boot/0000-ankle-boot.png"), read_text(kBoot));
  Files names;
  for (const std::string& file : files_in(folder / "sorted")) names.insert(fs::path(file).filename());
  EXPECT_EQ(names, (Files{"0000-ankle-boot.png", "clip.frame0.png", "clip.frame25.png"}));
}

TEST(ClassifySort, LeavesOutWhatFailsAndKeepsEqualNamesApart) {
  const TempFolder folder;
  fs::create_directory(folder / "a");
  fs::copy_file(kBoot, folder / "a/0000-ankle-boot.png");
  const CommandResult result = vitrine({"classify", kBoot, folder / "a/0000-ankle-boot.png",
                                        folder / "none.png", "--sort-into", folder / "sorted"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(files_in(folder / "sorted"),
            (Files{"Ankle boot/0000-ankle-boot.png", "Ankle boot/0000-ankle-boot-2.png"}));
}

TEST(ClassifySort, HasAFolderForPicturesBelowTheThreshold) {
  const TempFolder folder;
  const CommandResult result =
      vitrine({"classify", kBoot, "--threshold", "0.99", "--sort-into", folder / "sorted"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(files_in(folder / "sorted"), Files{"no-label/0000-ankle-boot.png"});
}

TEST(ClassifyAnnotate, WritesEachPictureWithItsLabels) {
  const TempFolder folder;
  const std::string cat = VITRINE_DATA "/images/rocket.jpg";
  const CommandResult result =
      vitrine({"classify", kBoot, cat, kClip, "--every", "40", "--annotate", folder / "drawn", "-k", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(files_in(folder / "drawn"),
            (Files{"0000-ankle-boot.png", "rocket.jpg", "clip.frame0.jpg", "clip.frame40.jpg"}));
  const io::Image before = read_picture(cat);
  const io::Image after = read_picture(folder / "drawn/rocket.jpg");
  ASSERT_EQ(after.height, before.height);
  ASSERT_EQ(after.width, before.width);
  const auto at = [&](const io::Image& image, std::int64_t y, std::int64_t x) {
    return static_cast<int>(image.pixels[static_cast<std::size_t>(3 * (y * image.width + x))]);
  };
  EXPECT_NEAR(at(after, 1, 1), 0.35 * at(before, 1, 1), 6);  // behind the text
  EXPECT_NEAR(at(after, before.height - 2, before.width - 2), at(before, before.height - 2, before.width - 2),
              6);
  EXPECT_EQ(read_picture(folder / "drawn/0000-ankle-boot.png").height, 224);  // 28, enlarged
}

TEST(ClassifyFolders, AreNewOrEmpty) {
  const TempFolder folder;
  for (const std::string option : {"--sort-into", "--annotate"}) {
    const std::string used = folder / ("used" + option);
    fs::create_directory(used);
    EXPECT_EQ(vitrine({"classify", kBoot, option, used}).exit_code, 0);
    const Files files = files_in(used);
    const CommandResult again = vitrine({"classify", kBoot, option, used});
    EXPECT_EQ(again.exit_code, 2);
    EXPECT_THAT(again.err, AllOf(HasSubstr(option), HasSubstr(used), HasSubstr("not empty")));
    const CommandResult resumed =
        vitrine({"classify", kBoot, option, used, "-o", folder / "rows.jsonl", "--resume"});
    EXPECT_EQ(resumed.exit_code, 2);
    EXPECT_THAT(resumed.err, HasSubstr("interrupted run"));
    EXPECT_EQ(files_in(used), files);
  }
  const CommandResult read = vitrine({"classify", folder.path(), "-r", "--annotate", folder / "new"});
  EXPECT_EQ(read.exit_code, 2);
  EXPECT_THAT(read.err, HasSubstr("read as inputs"));
  folder.write("file", "");
  EXPECT_EQ(vitrine({"classify", kBoot, "--annotate", folder / "file"}).exit_code, 4);
  EXPECT_EQ(vitrine({"classify", kBoot, "--sort-with", "copy"}).exit_code, 2);
}

TEST(ClassifyFolders, OfAnInterruptedRunAreGoneOnWith) {
  const TempFolder folder;
  fs::create_directory(folder / "in");
  for (int i = 0; i < 600; ++i)  // names that repeat, so that their numbers must go on too
    folder.write("in/" + std::to_string(i / 2) + (i % 2 == 0 ? ".png" : ".PNG"), read_text(kBoot));
  const auto command = [&](const std::string& name) {
    return std::vector<std::string>{"classify",    folder / "in",
                                    "-o",          folder / (name + ".jsonl"),
                                    "--sort-into", folder / (name + "-sorted"),
                                    "--annotate",  folder / (name + "-drawn")};
  };
  ASSERT_EQ(vitrine(command("whole")).exit_code, 0);
  std::vector<std::string> resumed = command("parts");
  resumed.emplace_back("--resume");
  int kills = 0;
  for (auto patience = 200ms; kills < 30; patience += 100ms) {
    if (vitrine_killed_after(patience, resumed).exit_code != 128 + SIGKILL) break;
    ++kills;
  }
  EXPECT_GT(kills, 0);
  EXPECT_EQ(read_text(folder / "parts.jsonl"), read_text(folder / "whole.jsonl"));
  for (const std::string kind : {"-sorted", "-drawn"})
    EXPECT_EQ(files_in(folder / ("parts" + kind)), files_in(folder / ("whole" + kind)));
}

}  // namespace
}  // namespace vit::test
