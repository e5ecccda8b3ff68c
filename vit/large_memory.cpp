#include "vit/large_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>

namespace vit {
namespace {

constexpr std::size_t kPage = std::size_t{2} << 20;

}  // namespace

void LargeMemory::Unmap::operator()(std::byte* p) const noexcept {
  munmap(p, bytes);
}

LargeMemory::LargeMemory(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + kPage - 1) / kPage * kPage;
  // A page more, to begin at a multiple of one; what lies around it goes back.
  void* const mapped =
      mmap(nullptr, rounded + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const first = static_cast<std::byte*>(mapped);
  const std::size_t before = (kPage - reinterpret_cast<std::uintptr_t>(mapped) % kPage) % kPage;
  if (before > 0) munmap(first, before);
  if (before < kPage) munmap(first + before + rounded, kPage - before);
  data_ = {first + before, Unmap{rounded}};
  madvise(data_.get(), rounded, MADV_HUGEPAGE);  // a wish: where it is not granted, small pages do
}

std::byte* LargeMemoryPool::take(std::size_t bytes) {
  constexpr std::size_t kBlock = std::size_t{64} << 20;  // untouched pages of it cost nothing
  constexpr std::size_t kLine = 64;
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
  const std::size_t rounded = (bytes + kLine - 1) / kLine * kLine;
  const std::lock_guard lock(mutex_);
  if (rounded > left_) {
    const std::size_t size = std::max(rounded, kBlock);
    next_ = blocks_.emplace_back(size).data();
    left_ = size;
  }
  std::byte* const taken = next_;
  next_ += rounded;
  left_ -= rounded;
  taken_ += rounded;
  return taken;
}

}  // namespace vit
