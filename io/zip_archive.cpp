#include "io/zip_archive.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "io/quote_name.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr std::uint64_t kBestRatio = 1032;  // of deflate: 258 bytes for 2 bits

/// The file as libzip's source. It notes where libzip read last: that is how the place of an entry's bytes is
/// found out, which libzip knows and does not tell.
struct FileSource {
  std::span<const std::byte> file;
  std::uint64_t position = 0;
  std::uint64_t last_read = 0;
  zip_error_t error{};
};

zip_int64_t read(FileSource& source, void* to, zip_uint64_t length) {
  const std::uint64_t count = std::min<std::uint64_t>(length, source.file.size() - source.position);
  if (count > 0) std::memcpy(to, source.file.data() + source.position, static_cast<std::size_t>(count));
  source.last_read = source.position;
  source.position += count;
  return static_cast<zip_int64_t>(count);
}

zip_int64_t seek(FileSource& source, void* arguments, zip_uint64_t length) {
  const zip_int64_t to =
      zip_source_seek_compute_offset(source.position, source.file.size(), arguments, length, &source.error);
  if (to < 0 || static_cast<std::uint64_t>(to) > source.file.size()) return -1;
  source.position = static_cast<std::uint64_t>(to);
  return 0;
}

zip_int64_t state_size(const FileSource& source, void* to) {
  auto* stat = static_cast<zip_stat_t*>(to);
  zip_stat_init(stat);
  stat->valid = ZIP_STAT_SIZE;
  stat->size = source.file.size();
  return sizeof *stat;
}

zip_int64_t serve(void* state, void* data, zip_uint64_t length, zip_source_cmd_t command) {
  auto& source = *static_cast<FileSource*>(state);
  switch (command) {
    case ZIP_SOURCE_OPEN:
      source.position = 0;
      return 0;
    case ZIP_SOURCE_READ:
      return read(source, data, length);
    case ZIP_SOURCE_SEEK:
      return seek(source, data, length);
    case ZIP_SOURCE_TELL:
      return static_cast<zip_int64_t>(source.position);
    case ZIP_SOURCE_STAT:
      return state_size(source, data);
    case ZIP_SOURCE_ERROR:
      return zip_error_to_data(&source.error, data, length);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
      return 0;
    case ZIP_SOURCE_SUPPORTS:
      return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                            ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE,
                                            ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_SUPPORTS, -1);
    default:
      zip_error_set(&source.error, ZIP_ER_OPNOTSUPP, 0);
      return -1;
  }
}

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct Close {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using OpenEntry = std::unique_ptr<zip_file_t, Close>;

}  // namespace

struct ZipArchive::Source {
  FileSource file;
  std::unique_ptr<zip_t, Discard> archive;
};

ZipArchive::ZipArchive(std::span<const std::byte> file, std::string_view name)
    : file_(file), name_(name), source_(std::make_unique<Source>()) {
  source_->file.file = file;
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_function_create(serve, &source_->file, &error);
  if (source != nullptr) source_->archive.reset(zip_open_from_source(source, ZIP_RDONLY, &error));
  if (!source_->archive) {
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    if (source != nullptr) zip_source_free(source);
    throw Error(ErrorCode::weights_invalid,
                fmt::format("{}: a zip archive (PyTorch, NumPy) that is truncated or damaged ({}); the "
                            "download or copy went wrong: fetch the file again",
                            name_, reason));
  }
  zip_error_fini(&error);

  const zip_int64_t count = zip_get_num_entries(source_->archive.get(), 0);
  for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(std::max<zip_int64_t>(count, 0)); ++i) {
    zip_stat_t stat;
    constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                                     ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if (zip_stat_index(source_->archive.get(), i, 0, &stat) != 0 || (stat.valid & kNeeded) != kNeeded)
      fail(fmt::format("number {}", i), "its entry in the directory is damaged");
    const std::string_view entry = stat.name;
    if (entry.ends_with('/')) continue;
    if (!entries_
             .emplace(entry, Entry{i, stat.size, stat.comp_size, stat.comp_method,
                                   stat.encryption_method != ZIP_EM_NONE})
             .second) {
      fail(entry, "there are two of this name");
    }
  }
}

ZipArchive::~ZipArchive() = default;

void ZipArchive::fail(std::string_view entry, std::string_view what) const {
  throw Error(ErrorCode::weights_invalid,
              fmt::format("{}: entry {} of the zip archive: {}", name_, quote_name(entry), what));
}

std::span<const std::byte> ZipArchive::read(std::string_view entry, OwnedBytes& memory) const {
  const auto at = entries_.find(entry);
  if (at == entries_.end()) fail(entry, "it is not there");
  const Entry& found = at->second;
  if (found.encrypted) fail(entry, "it is encrypted");
  if (found.method == ZIP_CM_STORE) return in_place(entry, found);
  if (found.method == ZIP_CM_DEFLATE) return inflate(entry, found, memory);
  fail(entry,
       fmt::format("it is compressed with method {}, expected 0 (stored) or 8 (deflated)", found.method));
}

std::span<const std::byte> ZipArchive::in_place(std::string_view entry, const Entry& at) const {
  if (at.size != at.packed)
    fail(entry, fmt::format("stored uncompressed, but of {} bytes {} are there", at.size, at.packed));
  if (at.size == 0) return {};
  const OpenEntry open(zip_fopen_index(source_->archive.get(), at.index, ZIP_FL_COMPRESSED));  // no checksum
  std::byte first{};
  if (!open || zip_fread(open.get(), &first, 1) != 1) {
    fail(entry, fmt::format("damaged ({})",
                            open ? zip_file_strerror(open.get()) : zip_strerror(source_->archive.get())));
  }
  const std::uint64_t begin = source_->file.last_read;
  if (at.size > file_.size() - begin) fail(entry, "it ends behind the end of the file");
  if (file_[static_cast<std::size_t>(begin)] != first)
    throw Error(ErrorCode::internal, fmt::format("{}: libzip read elsewhere than it said", name_));
  return file_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(at.size));
}

std::span<const std::byte> ZipArchive::inflate(std::string_view entry, const Entry& at,
                                               OwnedBytes& memory) const {
  constexpr std::uint64_t kStep = 1 << 20;
  const std::string what = fmt::format("entry {} of the zip archive", quote_name(entry));
  if (at.packed > file_.size() || at.size / kBestRatio > at.packed)
    fail(entry, fmt::format("{} bytes cannot be packed into {}", at.size, at.packed));
  memory.check(at.size, what);
  const OpenEntry open(zip_fopen_index(source_->archive.get(), at.index, 0));
  if (!open) fail(entry, fmt::format("damaged ({})", zip_strerror(source_->archive.get())));

  std::vector<std::byte> bytes;
  for (std::uint64_t done = 0;;) {
    // One byte more than there should be: the checksum is compared at the end, and nothing may follow.
    bytes.resize(static_cast<std::size_t>(std::min(at.size + 1, std::max(2 * done, kStep))));
    const zip_int64_t count = zip_fread(open.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0) fail(entry, fmt::format("damaged ({})", zip_file_strerror(open.get())));
    if (count == 0 && done < at.size)
      fail(entry, fmt::format("truncated: expected {} bytes, found {}", at.size, done));
    if (count == 0) break;
    done += static_cast<std::uint64_t>(count);
    if (done > at.size) fail(entry, fmt::format("more than the {} bytes that it should have", at.size));
  }
  bytes.resize(static_cast<std::size_t>(at.size));
  return memory.adopt(std::move(bytes), what);
}

}  // namespace vit::io
