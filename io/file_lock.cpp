#include "io/file_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "vit/error.hpp"

namespace vit::io {
namespace {

/// 0, or an errno value.
int lock(int descriptor, int how) {
  while (::flock(descriptor, how) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

/// Whoever held the lock may have removed the file: then others lock another one of that name.
bool is_still(const std::filesystem::path& path, int descriptor) {
  struct stat ours {};
  struct stat there {};
  return ::fstat(descriptor, &ours) == 0 && ::stat(path.c_str(), &there) == 0 &&
         ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& path, const std::function<void()>& waiting) {
  const auto fail = [&](int error) {
    throw Error(ErrorCode::output_unwritable, fmt::format("{}: cannot be locked: {}", path.string(),
                                                          std::generic_category().message(error)));
  };
  for (bool told = false;;) {
    descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail(errno);
    int error = lock(descriptor_, LOCK_EX | LOCK_NB);
    if (error == EWOULDBLOCK) {
      if (!told) waiting();
      told = true;
      error = lock(descriptor_, LOCK_EX);
    }
    if (error == 0 && is_still(path, descriptor_)) return;
    ::close(descriptor_);
    if (error != 0) fail(error);
  }
}

FileLock::~FileLock() {
  ::close(descriptor_);
}

}  // namespace vit::io
