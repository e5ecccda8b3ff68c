#include "vit/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <system_error>
#include <utility>

namespace vit {
namespace {

constexpr std::string_view kTemporaryPrefix = ".vitrine-";
constexpr std::string_view kTemporarySuffix = ".tmp";

std::string reason(int error) {
  return std::generic_category().message(error);
}

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return number_; }

 private:
  int number_;
};

[[noreturn]] void fail_reading(const std::filesystem::path& path, ErrorCode code, std::string_view why) {
  throw Error(code, fmt::format("{}: cannot be read: {}", path.string(), why));
}

// O_NONBLOCK: opening a FIFO that nobody writes to returns at once. It changes nothing for regular files.
struct stat open_regular(int descriptor, const std::filesystem::path& path, FileErrors errors) {
  if (descriptor < 0) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) {
      throw Error(errors.not_found,
                  fmt::format("{}: no such file; check the name and the folder", path.string()));
    }
    if (error == EACCES) fail_reading(path, errors.unreadable, reason(error) + "; it needs read permission");
    fail_reading(path, errors.unreadable, reason(error));
  }
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail_reading(path, errors.unreadable, reason(errno));
  if (!S_ISREG(status.st_mode)) {
    fail_reading(path, errors.unreadable, fmt::format("it is {}, not a file", kind_of(status.st_mode)));
  }
  return status;
}

int open_for_reading(const std::filesystem::path& path) {
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/// The path behind symbolic links, also where the last one points at nothing yet.
std::filesystem::path follow_links(std::filesystem::path path) {
  std::error_code ignored;
  for (int links = 0; links < 40 && std::filesystem::is_symlink(path, ignored); ++links) {
    const auto next = std::filesystem::read_symlink(path, ignored);
    if (ignored) break;
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  return path;
}

/// Writes all of it; returns an errno value, 0 for success.
int write_all(int descriptor, std::span<const std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return 0;
}

}  // namespace

std::vector<std::byte> read_file(const std::filesystem::path& path, std::size_t max_bytes,
                                 FileErrors errors) {
  const Descriptor file(open_for_reading(path));
  const struct stat status = open_regular(file.get(), path, errors);
  const auto too_large = [&](std::string_view size) {
    throw Error(errors.too_large,
                fmt::format("{}: {} bytes, more than the limit of {}", path.string(), size, max_bytes));
  };
  const auto stated = static_cast<std::uint64_t>(status.st_size);
  if (stated > max_bytes) too_large(std::to_string(stated));

  // The stated size is a hint: files of /proc say 0, and others may grow meanwhile.
  std::vector<std::byte> bytes(static_cast<std::size_t>(stated) + 1);
  std::size_t size = 0;
  for (;;) {
    const ssize_t count = ::read(file.get(), bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_reading(path, errors.unreadable, reason(errno));
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
    if (size > max_bytes) too_large(fmt::format("over {}", max_bytes));
    if (size == bytes.size()) bytes.resize(2 * size);
  }
  bytes.resize(size);
  return bytes;
}

MappedFile::MappedFile(const std::filesystem::path& path, FileErrors errors) : path_(path) {
  const Descriptor file(open_for_reading(path));
  const struct stat status = open_regular(file.get(), path, errors);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;  // mmap refuses empty mappings
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (memory == MAP_FAILED) fail_reading(path, errors.unreadable, reason(errno));
  bytes_ = {static_cast<const std::byte*>(memory), size};
}

MappedFile::~MappedFile() {
  // munmap's and madvise's parameters lack the const that the memory has.
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void MappedFile::release_pages(std::span<const std::byte> part) const {
  const std::less_equal<> before;  // of pointers into different objects, too
  if (!before(bytes_.data(), part.data()) ||
      !before(part.data() + part.size(), bytes_.data() + bytes_.size())) {
    return;
  }
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) / page * page;
  auto end = reinterpret_cast<std::uintptr_t>(part.data()) + part.size();
  // The mapping's last page is whole, though the file is not.
  if (part.data() + part.size() != bytes_.data() + bytes_.size()) end = end / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

AtomicFile::AtomicFile(std::filesystem::path target, std::optional<KeptUnfinished> kept)
    : target_(std::move(target)), final_(follow_links(target_)) {
  static std::atomic<unsigned> counter{0};
  if (!final_.has_filename()) fail(final_.empty() ? ENOENT : EISDIR);
  struct stat status {};
  const bool exists = ::stat(final_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail(EISDIR);
  if (exists && ::access(final_.c_str(), W_OK) != 0) fail(errno);  // a rename would replace a protected file
  special_ = exists && !S_ISREG(status.st_mode);

  kept_ = kept && !special_;
  if (kept_) {
    open_kept(*kept);
    if (exists) ::fchmod(descriptor_, status.st_mode & 07777);
    return;
  }
  std::error_code no_folder;
  const std::filesystem::path folder =
      special_ ? std::filesystem::temp_directory_path(no_folder) : final_.parent_path();
  // Not derived from the target's name, which may be as long as names can be.
  temporary_ = folder / fmt::format("{}{}-{}{}", kTemporaryPrefix, ::getpid(), counter++, kTemporarySuffix);
  descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    const int error = errno;
    temporary_.clear();
    fail(error);
  }
  if (exists && !special_) ::fchmod(descriptor_, status.st_mode & 07777);
}

void AtomicFile::open_kept(const KeptUnfinished& kept) {
  temporary_ = unfinished_path(target_);
  descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(errno);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    ::close(std::exchange(descriptor_, -1));
    throw Error(ErrorCode::output_unwritable,
                fmt::format("{}: another program is writing it", temporary_.string()));
  }
  if (::ftruncate(descriptor_, static_cast<off_t>(kept.bytes)) != 0) fail(errno);
  end_ = kept.bytes;
}

std::filesystem::path AtomicFile::unfinished_path(const std::filesystem::path& target) {
  return follow_links(target).native() + ".partial";
}

bool AtomicFile::is_temporary(const std::filesystem::path& file) {
  const std::string name = file.filename();
  return name.starts_with(kTemporaryPrefix) && name.ends_with(kTemporarySuffix);
}

AtomicFile::~AtomicFile() {
  remove_temporary();
}

void AtomicFile::append(std::span<const std::byte> bytes) {
  write_at(end_, bytes);
  end_ += bytes.size();
}

void AtomicFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (const int error = write_all(descriptor_, bytes, offset); error != 0) fail(error);
}

void AtomicFile::commit() {
  if (special_) return copy_to_target();
  // So that a power cut leaves the old file or the new one as well. Some file systems cannot, and need not.
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOSYS) fail(errno);
  const int closed =
      ::close(std::exchange(descriptor_, -1));  // some file systems report a full disk only here
  if (closed != 0) fail(errno);
  if (::rename(temporary_.c_str(), final_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void AtomicFile::copy_to_target() {
  const Descriptor out(::open(final_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (out.get() < 0) fail(errno);
  std::array<std::byte, 1 << 16> buffer;
  off_t offset = 0;
  for (;;) {
    const ssize_t count = ::pread(descriptor_, buffer.data(), buffer.size(), offset);
    if (count < 0) fail(errno);
    if (count == 0) break;
    offset += count;
    for (ssize_t done = 0; done < count;) {
      const ssize_t written =
          ::write(out.get(), buffer.data() + done, static_cast<std::size_t>(count - done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(errno);
      done += written;
    }
  }
  remove_temporary();
}

void AtomicFile::remove_temporary() noexcept {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty() && !kept_) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void AtomicFile::fail(int error) const {
  throw Error(ErrorCode::output_unwritable,
              fmt::format("{}: cannot be written: {}", target_.string(), reason(error)));
}

void write_file_atomically(const std::filesystem::path& target, std::span<const std::byte> bytes) {
  AtomicFile file(target);
  file.append(bytes);
  file.commit();
}

}  // namespace vit
