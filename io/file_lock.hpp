// A lock between processes: flock, as Python's filelock takes it on Unix. Internal.
#pragma once

#include <filesystem>
#include <functional>

namespace vit::io {

/// Held from construction to destruction; the system releases it when the process ends, however it does.
class FileLock {
 public:
  /// Waits for as long as another process holds it, and calls `waiting` once, before that. Throws
  /// Error(output_unwritable) where the file cannot be made or locked.
  FileLock(const std::filesystem::path& path, const std::function<void()>& waiting);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace vit::io
