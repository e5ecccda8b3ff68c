#include "io/blob_digest.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::io {
namespace {

using test::TempFolder;

// sha256sum, and git hash-object, of the same files.
TEST(BlobDigest, IsThatOfTheHub) {
  const TempFolder folder;
  const auto empty = folder.write("empty", "");
  const auto text = folder.write("text", "what is up, doc?");
  EXPECT_EQ(digest_of(empty, DigestKind::sha256),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest_of(empty, DigestKind::git_blob), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(digest_of(text, DigestKind::git_blob), "bd9dbf5aae1a3862dd1526723246b20206e5fc37");
  EXPECT_EQ(digest_kind(std::string(64, 'a'), "x"), DigestKind::sha256);
  EXPECT_EQ(digest_kind(std::string(40, '0'), "x"), DigestKind::git_blob);
  for (const std::string& bad :
       {std::string(), std::string(40, 'A'), std::string(63, 'a'), std::string(40, 'g')})
    EXPECT_ERROR(digest_kind(bad, "x.bin"), ErrorCode::download_failed, "x.bin", "SHA-256");
}

}  // namespace
}  // namespace vit::io
