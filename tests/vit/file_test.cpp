#include "vit/file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit {
namespace {

using test::read_text;
using test::TempFolder;

constexpr FileErrors kErrors{ErrorCode::model_not_found, ErrorCode::config_invalid,
                             ErrorCode::image_too_large};

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(ReadFile, GivesEveryByte) {
  const TempFolder folder;
  const std::string content("a\0b\xFF\n", 5);
  EXPECT_EQ(as_text(read_file(folder.write("x", content), 5, kErrors)), content);
  EXPECT_TRUE(read_file(folder.write("empty", ""), 0, kErrors).empty());
}

TEST(ReadFile, TakesAnyName) {
  const TempFolder folder;
  for (const std::string name : {"图片 Öß.bin", "[x] {y}.bin", "not utf-8 \xFF\xFE", "new\nline"}) {
    EXPECT_EQ(as_text(read_file(folder.write(name, "abc"), 10, kErrors)), "abc") << name;
  }
}

TEST(ReadFile, RefusesWhatIsLargerThanTheLimit) {
  const TempFolder folder;
  EXPECT_ERROR(read_file(folder.write("big", "123456"), 5, kErrors), ErrorCode::image_too_large, "big",
               "6 bytes", "5");
  // States a size of 0 and goes on for ever longer than the limit.
  EXPECT_ERROR(read_file("/proc/cpuinfo", 5, kErrors), ErrorCode::image_too_large, "/proc/cpuinfo");
}

TEST(ReadFile, ReadsFilesThatStateNoSize) {
  EXPECT_GT(read_file("/proc/self/status", 1 << 20, kErrors).size(), 100U);
}

TEST(ReadFile, RefusesWhatIsNoFileWithoutWaiting) {
  const TempFolder folder;
  EXPECT_ERROR(read_file(folder / "nothing", 10, kErrors), ErrorCode::model_not_found, "nothing",
               "no such file");
  EXPECT_ERROR(read_file(folder.write("x", "") / "y", 10, kErrors), ErrorCode::model_not_found, "x/y");
  EXPECT_ERROR(read_file(folder.path(), 10, kErrors), ErrorCode::config_invalid, folder.path().string(),
               "a folder");
  EXPECT_ERROR(read_file("/dev/zero", 10, kErrors), ErrorCode::config_invalid, "/dev/zero", "a device");
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_ERROR(read_file(folder / "fifo", 10, kErrors), ErrorCode::config_invalid, "fifo", "a FIFO");
  EXPECT_ERROR(MappedFile(folder / "fifo", kErrors), ErrorCode::config_invalid, "fifo", "a FIFO");
  EXPECT_ERROR(MappedFile(folder.path(), kErrors), ErrorCode::config_invalid, "a folder");
  EXPECT_ERROR(MappedFile(folder / "nothing", kErrors), ErrorCode::model_not_found, "nothing");
}

/// For its lifetime root is "nobody"; others stay who they are.
class OrdinaryUser {
 public:
  OrdinaryUser() : before_(::geteuid()) {
    if (before_ == 0) {
      EXPECT_EQ(::seteuid(65534), 0);
    }
  }
  ~OrdinaryUser() {
    if (before_ == 0) {
      EXPECT_EQ(::seteuid(0), 0);
    }
  }
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;

 private:
  uid_t before_;
};

TEST(ReadFile, SaysThatPermissionIsMissing) {
  const TempFolder folder;
  const auto path = folder.write("secret", "x");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  const OrdinaryUser user;  // root may read everything
  EXPECT_ERROR(read_file(path, 10, kErrors), ErrorCode::config_invalid, "secret", "ermission");
}

TEST(MappedFile, ShowsTheBytesAndMoves) {
  const TempFolder folder;
  MappedFile a(folder.write("x", "hello"), kErrors);
  MappedFile b = std::move(a);
  EXPECT_TRUE(a.bytes().empty());  // NOLINT: the state after a move is the test
  EXPECT_EQ(as_text(b.bytes()), "hello");
  b.release_pages();
  EXPECT_EQ(as_text(b.bytes()), "hello");
  MappedFile c;
  c = std::move(b);
  EXPECT_EQ(as_text(c.bytes()), "hello");
  EXPECT_TRUE(MappedFile(folder.write("empty", ""), kErrors).bytes().empty());
}

TEST(MappedFile, ReleasesNoMemoryButItsOwn) {
  const TempFolder folder;
  const MappedFile file(folder.write("x", std::string(1 << 16, 'x')), kErrors);
  std::vector<std::byte> others(1 << 20, std::byte{7});  // released, it would read as zero
  file.release_pages(others);
  EXPECT_EQ(std::count(others.begin(), others.end(), std::byte{7}), 1 << 20);
  file.release_pages(file.bytes().subspan(5000, 50000));
  EXPECT_EQ(as_text(file.bytes()), std::string(1 << 16, 'x'));
}

TEST(AtomicFile, AppearsOnCommitOnly) {
  const TempFolder folder;
  {
    AtomicFile file(folder / "x");
    file.append(std::as_bytes(std::span("ab", 2)));
    file.write_at(4, std::as_bytes(std::span("e", 1)));
    file.append(std::as_bytes(std::span("cd", 2)));
    EXPECT_FALSE(std::filesystem::exists(folder / "x"));
    EXPECT_TRUE(AtomicFile::is_temporary(file.temporary()));
    EXPECT_FALSE(AtomicFile::is_temporary(file.target()));
    file.commit();
  }
  EXPECT_EQ(read_text(folder / "x"), "abcde");
  EXPECT_EQ(files_in(folder.path()), 1U);
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TempFolder folder;
  folder.write("x", "old");
  {
    AtomicFile file(folder / "x");
    file.append(std::as_bytes(std::span("new", 3)));
  }
  EXPECT_EQ(read_text(folder / "x"), "old");
  EXPECT_EQ(files_in(folder.path()), 1U);
}

TEST(AtomicFile, KeepsPermissionsAndFollowsLinks) {
  const TempFolder folder;
  const auto target = folder.write("target", "old");
  std::filesystem::permissions(target, std::filesystem::perms::owner_all);
  std::filesystem::create_symlink("target", folder / "link");
  write_file_atomically(folder / "link", std::string_view("new"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(read_text(target), "new");
  EXPECT_EQ(std::filesystem::status(target).permissions(), std::filesystem::perms::owner_all);

  std::filesystem::create_symlink("fresh", folder / "dangling");
  write_file_atomically(folder / "dangling", std::string_view("new"));
  EXPECT_EQ(read_text(folder / "fresh"), "new");
}

TEST(AtomicFile, SaysWhyItCannotBeWritten) {
  const TempFolder folder;
  EXPECT_ERROR(AtomicFile(folder / "no/such/x"), ErrorCode::output_unwritable, "no/such/x", "No such file");
  EXPECT_ERROR(AtomicFile(folder.path()), ErrorCode::output_unwritable, folder.path().string(), "directory");
  EXPECT_ERROR(AtomicFile(folder.path() / ""), ErrorCode::output_unwritable, "directory");
  EXPECT_ERROR(AtomicFile(""), ErrorCode::output_unwritable, "cannot be written");
  EXPECT_ERROR(AtomicFile(folder.write("file", "") / "x"), ErrorCode::output_unwritable, "file/x");
}

TEST(AtomicFile, NeverReplacesADevice) {
  write_file_atomically("/dev/null", std::string_view("gone"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_ERROR(write_file_atomically("/dev/full", std::string_view("x")), ErrorCode::output_unwritable,
               "/dev/full", "No space");
}

TEST(AtomicFile, WritesIntoAFifo) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = read_text(folder / "fifo"); });
  const std::string content(200'000, 'x');
  write_file_atomically(folder / "fifo", std::string_view(content));
  reader.join();
  EXPECT_EQ(got, content);
}

TEST(AtomicFile, TakesTheLongestName) {
  const TempFolder folder;
  const std::string name(255, 'x');
  write_file_atomically(folder / name, std::string_view("a"));
  EXPECT_EQ(read_text(folder / name), "a");
}

}  // namespace
}  // namespace vit
