// A file of the hub's cache while it is fetched; what is there already is kept for the next attempt.
// Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace vit::io {

/// Grows at its end; becomes the blob in the end. Not destroyed with the object: another run continues it.
/// Whoever uses it holds the lock. Every member throws Error(output_unwritable) naming the path and the
/// system's reason.
class IncompleteBlob {
 public:
  explicit IncompleteBlob(const std::filesystem::path& path);
  ~IncompleteBlob();
  IncompleteBlob(const IncompleteBlob&) = delete;
  IncompleteBlob& operator=(const IncompleteBlob&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  void append(std::span<const std::byte> bytes);
  /// Forgets what there is.
  void restart();
  /// Removes the file: it is of no use to anybody.
  void discard() noexcept;
  /// On the disk, then in place of `blob`, which others see complete or not at all.
  void move_to(const std::filesystem::path& blob);

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace vit::io
