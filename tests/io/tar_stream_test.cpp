#include "io/tar_stream.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "io/classifier.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kBoot = VITRINE_DATA "/images/fashion-mnist/0000-ankle-boot.png";

struct Member {
  std::string name;
  std::string content;
  mode_t type = AE_IFREG;
};

class TarStreamTest : public ::testing::Test {
 protected:
  /// As the named format ("ustar", "pax", "gnutar") and, if any, filter ("gzip", "zstd", …) write it.
  std::string write(const std::string& name, const std::vector<Member>& members, const char* format = "pax",
                    const char* filter = nullptr) {
    const std::string path = folder_ / name;
    archive* const a = archive_write_new();
    EXPECT_EQ(archive_write_set_format_by_name(a, format), ARCHIVE_OK);
    if (filter != nullptr) {
      EXPECT_EQ(archive_write_add_filter_by_name(a, filter), ARCHIVE_OK);
    }
    archive_write_set_options(a, "hdrcharset=BINARY");
    EXPECT_EQ(archive_write_open_filename(a, path.c_str()), ARCHIVE_OK);
    for (const Member& member : members) {
      archive_entry* const entry = archive_entry_new();
      archive_entry_set_pathname(entry, member.name.c_str());
      archive_entry_set_filetype(entry, member.type);
      archive_entry_set_perm(entry, 0644);
      if (member.type == AE_IFLNK) archive_entry_set_symlink(entry, "elsewhere");
      archive_entry_set_size(entry,
                             member.type == AE_IFREG ? static_cast<la_int64_t>(member.content.size()) : 0);
      EXPECT_EQ(archive_write_header(a, entry), ARCHIVE_OK) << archive_error_string(a);
      if (member.type == AE_IFREG) archive_write_data(a, member.content.data(), member.content.size());
      archive_entry_free(entry);
    }
    EXPECT_EQ(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    return path;
  }

  static std::vector<Input> all(const std::string& path) {
    std::vector<Input> inputs;
    const std::unique_ptr<PictureStream> stream = open_tar(path);
    while (std::optional<Input> input = stream->next()) inputs.push_back(std::move(*input));
    return inputs;
  }

  /// Without the archive's own.
  static std::vector<std::string> names(const std::string& path) {
    std::vector<std::string> result;
    for (const Input& input : all(path)) {
      EXPECT_FALSE(input.error) << input.error->what();
      result.push_back(input.name.substr(path.size() + 1));
    }
    return result;
  }

  test::TempFolder folder_;
};

TEST_F(TarStreamTest, GivesPicturesInTheArchivesOrder) {
  const std::string path = write("shard.tar", {{"b.png", "1"},
                                               {"b.json", "{}"},
                                               {"./a/10.JPG", "2"},
                                               {"a/2.jpg", "3"},
                                               {"a", "", AE_IFDIR},
                                               {"link.png", "", AE_IFLNK},
                                               {"._b.png", "resource fork"},
                                               {"Ünïcode 图.webp", "4"}});
  EXPECT_THAT(names(path), ElementsAre("b.png", "a/10.JPG", "a/2.jpg", "Ünïcode 图.webp"));
  EXPECT_EQ(all(path)[0].bytes.size(), 1U);
}

TEST_F(TarStreamTest, ReadsEachFormatAndFilter) {
  const std::string long_name = std::string(150, 'x') + "/" + std::string(150, 'y') + ".png";
  for (const char* format : {"pax", "gnutar"})
    EXPECT_THAT(names(write("f.tar", {{long_name, "1"}}, format)), ElementsAre(long_name)) << format;
  EXPECT_THAT(names(write("f.tar", {{"a.png", "1"}}, "ustar")), ElementsAre("a.png"));
  for (const auto& [ending, filter] : {std::pair(".tgz", "gzip"), std::pair(".tar.bz2", "bzip2"),
                                       std::pair(".tar.xz", "xz"), std::pair(".tar.zst", "zstd")}) {
    const std::string path =
        write(std::string("f") + ending, {{"a.png", "1"}, {"b.png", "2"}}, "pax", filter);
    EXPECT_TRUE(has_tar_extension(path));
    EXPECT_THAT(names(path), ElementsAre("a.png", "b.png")) << filter;
  }
}

TEST_F(TarStreamTest, MembersDecodeLikeFiles) {
  const std::string path = write("shard.tar", {{"boot.png", test::read_text(kBoot)}});
  const PreprocessConfig recipe;
  const Tensor of_member = load_pixel_values(all(path).at(0), recipe);
  const Tensor of_file = load_pixel_values(Input{kBoot}, recipe);
  EXPECT_TRUE(std::equal(of_file.data(), of_file.data() + of_file.size(), of_member.data()));
}

TEST_F(TarStreamTest, DamagedArchivesEndWithAnError) {
  const std::string whole =
      test::read_text(write("w.tar", {{"a.png", std::string(3000, '1')}, {"b.png", "2"}}));
  struct Case {
    const char* name;
    std::string content;
    std::size_t inputs;
    ErrorCode code;
  };
  for (const Case& c : {Case{"empty.tar", "", 1, ErrorCode::image_corrupt},
                        Case{"text.tar", "no archive\n", 1, ErrorCode::image_corrupt},
                        Case{"cut.tar", whole.substr(0, 3000), 1, ErrorCode::image_truncated},
                        Case{"zeros.tar", std::string(10240, '\0'), 1, ErrorCode::no_input}}) {
    const std::string path = folder_.write(c.name, c.content);
    const std::vector<Input> inputs = all(path);
    ASSERT_EQ(inputs.size(), c.inputs) << c.name;
    ASSERT_TRUE(inputs.back().error) << c.name;
    EXPECT_EQ(inputs.back().error->code(), c.code) << c.name << ": " << inputs.back().error->what();
    EXPECT_THAT(inputs.back().error->what(), HasSubstr(path));
  }
}

TEST_F(TarStreamTest, AnArchiveWithoutPicturesAndAnEmptyPictureAreErrors) {
  const std::vector<Input> none = all(write("none.tar", {{"a.txt", "1"}}));
  ASSERT_EQ(none.size(), 1U);
  EXPECT_EQ(none[0].error->code(), ErrorCode::no_input);
  const std::vector<Input> empty = all(write("empty.tar", {{"a.png", ""}, {"b.png", "1"}}));
  ASSERT_EQ(empty.size(), 2U);
  EXPECT_EQ(empty[0].error->code(), ErrorCode::image_empty);
  EXPECT_FALSE(empty[1].error);
}

}  // namespace
}  // namespace vit::io
