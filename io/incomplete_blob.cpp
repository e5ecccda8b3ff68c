#include "io/incomplete_blob.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "vit/error.hpp"

namespace vit::io {

IncompleteBlob::IncompleteBlob(const std::filesystem::path& path) : path_(path) {
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (descriptor_ < 0) fail(errno);
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    fail(EINVAL);
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

IncompleteBlob::~IncompleteBlob() {
  ::close(descriptor_);
}

void IncompleteBlob::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    size_ += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void IncompleteBlob::restart() {
  if (::ftruncate(descriptor_, 0) != 0) fail(errno);
  size_ = 0;
}

void IncompleteBlob::discard() noexcept {
  ::unlink(path_.c_str());
}

void IncompleteBlob::move_to(const std::filesystem::path& blob) {
  if (::fsync(descriptor_) != 0 || ::rename(path_.c_str(), blob.c_str()) != 0) fail(errno);
}

void IncompleteBlob::fail(int error) const {
  const std::string kept =
      size_ > 0 ? fmt::format("; the {} bytes there are kept, and the next attempt continues them", size_)
                : "";
  throw Error(ErrorCode::output_unwritable, fmt::format("{}: cannot be written: {}{}", path_.string(),
                                                        std::generic_category().message(error), kept));
}

}  // namespace vit::io
