// Files: bounded reading, read-only mapping, atomic writing. Paths are byte strings; nothing assumes an
// encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vit/error.hpp"

namespace vit {

/// The code of each way in which reading fails, since a missing picture and a missing model are different
/// errors.
struct FileErrors {
  ErrorCode not_found;   ///< there is no such file
  ErrorCode unreadable;  ///< a folder, a device, no permission, a read error
  ErrorCode too_large;   ///< more than max_bytes

  static constexpr FileErrors all(ErrorCode code) { return {code, code, code}; }
  static constexpr FileErrors image() {
    return {ErrorCode::image_not_found, ErrorCode::image_unreadable, ErrorCode::image_too_large};
  }
};

/// The whole content of a regular file. Never waits: a FIFO, a socket, a device or a folder is refused.
/// Throws Error with the codes given, naming the path.
std::vector<std::byte> read_file(const std::filesystem::path& path, std::size_t max_bytes, FileErrors errors);

/// Bytes as text, for parsers. Refers to the bytes.
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A regular file mapped into memory, read-only and page by page on demand. Move-only. Reading is
/// thread-safe. A file that another program shortens while it is mapped is beyond what this class can handle.
class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(const std::filesystem::path& path, FileErrors errors);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }

  /// Gives the pages in memory back to the system; they return from the file when they are read again.
  void release_pages() const { release_pages(bytes_); }
  /// Only those that lie wholly within `part`. Does nothing where that is no part of bytes().
  void release_pages(std::span<const std::byte> part) const;

 private:
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

/// A file whose unfinished form can be seen, TARGET.partial, and stays if the program ends before commit().
struct KeptUnfinished {
  std::uint64_t bytes = 0;  ///< of one that an earlier program left, to go on behind; 0: begins anew
};

/// A file that appears complete or not at all: written beside its target, renamed over it by commit(),
/// removed otherwise. A symbolic link is followed, an existing file's permissions are kept. A target that is
/// no regular file (/dev/stdout, a FIFO) receives the bytes in commit(). Every member throws
/// Error(output_unwritable) naming the target and the system's reason.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path target, std::optional<KeptUnfinished> kept = std::nullopt);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// At the end of what append has written so far.
  void append(std::span<const std::byte> bytes);
  /// Anywhere; what lies between is zero.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Once, in the end.
  void commit();

  const std::filesystem::path& target() const { return target_; }
  /// Where the bytes are until commit(), for reading them back.
  const std::filesystem::path& temporary() const { return temporary_; }

  /// Where a kept unfinished file lies.
  static std::filesystem::path unfinished_path(const std::filesystem::path& target);
  /// Whether a file has the name of one that is being written, or was when its program was killed.
  static bool is_temporary(const std::filesystem::path& file);

 private:
  [[noreturn]] void fail(int error) const;
  void open_kept(const KeptUnfinished& kept);
  void copy_to_target();
  void remove_temporary() noexcept;

  std::filesystem::path target_;     ///< as the caller named it
  std::filesystem::path final_;      ///< where it really is, behind symbolic links
  std::filesystem::path temporary_;  ///< empty: none
  bool special_ = false;             ///< the target is no regular file
  bool kept_ = false;                ///< the temporary file stays if there is no commit()
  int descriptor_ = -1;
  std::uint64_t end_ = 0;
};

/// AtomicFile in one call.
void write_file_atomically(const std::filesystem::path& target, std::span<const std::byte> bytes);
inline void write_file_atomically(const std::filesystem::path& target, std::string_view text) {
  write_file_atomically(target, std::as_bytes(std::span(text)));
}

}  // namespace vit
