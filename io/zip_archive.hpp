// Zip archives in memory, through libzip. Internal. The format: APPNOTE.TXT of PKWARE, 4.3 and 4.4.
//
// libzip reads the directory and inflates. What is stored uncompressed is not read through it but taken where
// it lies in the file; so its checksum is not looked at, and must not be: torch.save can be told not to write
// it (torch.serialization.set_crc32_options).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "io/owned_bytes.hpp"

namespace vit::io {

class ZipArchive {
 public:
  /// Refers to the bytes. `name` appears in messages. Throws Error(weights_invalid): no archive, truncated,
  /// two entries of one name.
  ZipArchive(std::span<const std::byte> file, std::string_view name);
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  struct Entry {
    std::uint64_t index = 0;
    std::uint64_t size = 0;    ///< as the directory says; nothing is allocated for it before bytes come
    std::uint64_t packed = 0;  ///< in the file
    int method = 0;            ///< of APPNOTE 4.4.5
    bool encrypted = false;
  };

  /// By their whole name, without folders.
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }
  const std::string& name() const { return name_; }
  std::span<const std::byte> file() const { return file_; }

  /// An entry's bytes: in the file, or inflated into `memory`. Throws Error(weights_invalid), naming the
  /// archive and the entry: there is none, encrypted, another method than stored or deflated, damaged, more
  /// than `memory` may hold.
  std::span<const std::byte> read(std::string_view entry, OwnedBytes& memory) const;

  /// Throws Error(weights_invalid): NAME: entry "ENTRY": WHAT.
  [[noreturn]] void fail(std::string_view entry, std::string_view what) const;

 private:
  struct Source;

  std::span<const std::byte> in_place(std::string_view entry, const Entry& at) const;
  std::span<const std::byte> inflate(std::string_view entry, const Entry& at, OwnedBytes& memory) const;

  std::span<const std::byte> file_;
  std::string name_;
  std::unique_ptr<Source> source_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace vit::io
