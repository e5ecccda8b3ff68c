// Memory on large pages. Internal to vit/.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace vit {

/// A block of zeros that begins at a page of 2 MiB and asks the kernel for such pages, which many systems
/// give only to those who ask (transparent_hugepage/enabled: madvise). A matmul walks through megabytes of
/// weights; on pages of 4 KiB it waits for their addresses for a third of its time on a virtual machine. The
/// last page counts whole: one block for many tensors, not one for each.
class LargeMemory {
 public:
  LargeMemory() = default;
  /// Throws std::bad_alloc.
  explicit LargeMemory(std::size_t bytes);

  std::byte* data() const { return data_.get(); }

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* p) const noexcept;
  };

  std::unique_ptr<std::byte[], Unmap> data_{nullptr, Unmap{0}};
};

/// Hands out pieces of large blocks, one behind the other; all of them live as long as it does.
class LargeMemoryPool {
 public:
  /// Zeros, aligned to a cache line. Threads may share the pool. Throws std::bad_alloc.
  std::byte* take(std::size_t bytes);

  /// Bytes that were handed out.
  std::size_t taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }

 private:
  mutable std::mutex mutex_;  // guards all below
  std::vector<LargeMemory> blocks_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
  std::size_t taken_ = 0;
};

}  // namespace vit
