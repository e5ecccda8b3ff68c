// Checksums of files, as the hub names their content. Internal.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace vit::io {

enum class DigestKind {
  sha256,    ///< of the bytes: files in large file storage
  git_blob,  ///< git's SHA-1 of "blob SIZE\0" and the bytes: the others
};

/// By the number of its hexadecimal digits, 64 or 40. Throws Error(download_failed) for anything else, naming
/// `file`.
DigestKind digest_kind(std::string_view etag, std::string_view file);

/// In lower-case hexadecimal digits. Throws Error: output_unwritable (the file, which we wrote, cannot be
/// read back), internal.
std::string digest_of(const std::filesystem::path& file, DigestKind kind);

}  // namespace vit::io
