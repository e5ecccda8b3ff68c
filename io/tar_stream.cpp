#include "io/tar_stream.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "io/folder_listing.hpp"

namespace vit::io {
namespace {

constexpr std::array<std::string_view, 6> kEndings{".tar",     ".tgz",    ".tar.gz",
                                                   ".tar.bz2", ".tar.xz", ".tar.zst"};
constexpr std::size_t kBlock = std::size_t{1} << 16;

struct FreeArchive {
  void operator()(archive* a) const { archive_read_free(a); }
};

class TarStream : public PictureStream {
 public:
  explicit TarStream(const std::string& name) : name_(name), archive_(archive_read_new()) {
    archive* const a = archive_.get();
    archive_read_support_format_tar(a);
    archive_read_support_filter_gzip(a);
    archive_read_support_filter_bzip2(a);
    archive_read_support_filter_xz(a);
    archive_read_support_filter_zstd(a);
    // Names are bytes: whatever the header says of their encoding, and whatever the locale is.
    archive_read_set_options(a, "hdrcharset=BINARY");
    ended_ = archive_read_open_filename(a, name.c_str(), kBlock) != ARCHIVE_OK;
    if (ended_) failure_ = damaged();
  }

  std::optional<Input> next() override {
    while (!ended_) {
      archive_entry* entry = nullptr;
      const int code = archive_read_next_header(archive_.get(), &entry);
      if (code == ARCHIVE_EOF) {
        end_without_error();
      } else if (code < ARCHIVE_WARN) {
        end_with(damaged());
      } else if (is_picture(entry)) {
        ++pictures_;
        return read_member(entry);
      }
    }
    if (!failure_) return std::nullopt;
    Input input{name_, std::move(failure_)};
    failure_.reset();
    return input;
  }

 private:
  static bool is_picture(archive_entry* entry) {
    const char* const name = archive_entry_pathname(entry);
    if (name == nullptr || archive_entry_filetype(entry) != AE_IFREG) return false;
    const std::filesystem::path path(name);
    return has_picture_extension(path) && !path.filename().native().starts_with('.');
  }

  /// Without the ./ that tar writes in front of what it was given as a folder.
  static std::string_view member_name(archive_entry* entry) {
    std::string_view name = archive_entry_pathname(entry);
    while (name.starts_with("./")) name.remove_prefix(2);
    return name;
  }

  /// As much as there really is, whatever the header says of its size.
  Input read_member(archive_entry* entry) {
    Input input{fmt::format("{}/{}", name_, member_name(entry))};
    for (;;) {
      const std::size_t size = input.bytes.size();
      input.bytes.resize(size + kBlock);
      const auto count = archive_read_data(archive_.get(), input.bytes.data() + size, kBlock);
      input.bytes.resize(size + static_cast<std::size_t>(std::max<la_ssize_t>(count, 0)));
      if (count < 0) {
        input.error = Error(ErrorCode::image_truncated,
                            fmt::format("{}: cannot be read out of the archive: {}", input.name, reason()));
        end_without_error();
      } else if (count == 0 && input.bytes.empty()) {
        input.error =
            Error(ErrorCode::image_empty, fmt::format("{}: is empty, expected a picture", input.name));
      } else if (input.bytes.size() > kMaxPictureBytes) {
        input.error = Error(ErrorCode::image_too_large,
                            fmt::format("{}: more than {} bytes", input.name, kMaxPictureBytes));
      }
      if (input.error) input.bytes = {};
      if (count <= 0 || input.error) return input;
    }
  }

  void end_without_error() {
    if (pictures_ == 0) {
      failure_ = Error(ErrorCode::no_input, fmt::format("{}: no pictures in this archive", name_));
    }
    ended_ = true;
  }

  void end_with(Error error) {
    failure_ = std::move(error);
    ended_ = true;
  }

  Error damaged() const {
    return {ErrorCode::image_corrupt, fmt::format("{}: the archive cannot be read{}: {}", name_,
                                                  pictures_ > 0 ? " further" : "", reason())};
  }

  std::string reason() const {
    const char* const text = archive_error_string(archive_.get());
    return text != nullptr ? text : "no reason given";
  }

  std::string name_;
  std::unique_ptr<archive, FreeArchive> archive_;
  std::int64_t pictures_ = 0;
  bool ended_ = false;
  std::optional<Error> failure_;  // that is still to be given out
};

}  // namespace

bool has_tar_extension(const std::string& name) {
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view end) { return name.ends_with(end); });
}

std::unique_ptr<PictureStream> open_tar(const std::string& name) {
  return std::make_unique<TarStream>(name);
}

}  // namespace vit::io
