#include "vit/tensor.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>

namespace vit {
namespace {

constexpr std::align_val_t kAlignment{64};  // one cache line, one AVX-512 register

/// Bytes of a tensor, at least one element. Throws std::bad_array_new_length where they cannot be counted.
std::size_t checked_bytes(std::span<const std::int64_t> shape) {
  std::int64_t bytes = sizeof(float);
  for (const std::int64_t dim : shape) {
    const std::int64_t factor = std::max<std::int64_t>(dim, 1);
    if (dim < 0 || bytes > std::numeric_limits<std::int64_t>::max() / factor) {
      throw std::bad_array_new_length();
    }
    bytes *= factor;
  }
  return static_cast<std::size_t>(bytes);
}

/// Asks for pages of 2 MiB where they fit: memory of this size is touched once from end to end, and every
/// first touch of a page costs as much as some microseconds of arithmetic. Whoever forbids large pages gets
/// small ones.
void prefer_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::size_t kLarge = std::size_t{2} << 20;
  if (bytes < kLarge) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(memory) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / page * page;
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

}  // namespace

std::string_view to_string(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "F32";
    case DType::f16:
      return "F16";
    case DType::bf16:
      return "BF16";
    case DType::i8:
      return "I8";
  }
  return "?";
}

std::int64_t element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count *= dim;
  return count;
}

std::string to_string(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const std::int64_t dim : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(dim);
  }
  return text + "]";
}

void Tensor::AlignedDelete::operator()(float* p) const noexcept {
  ::operator delete[](p, kAlignment);
}

Tensor::Tensor(Shape shape) : shape_(std::move(shape)) {
  const std::size_t bytes = checked_bytes(shape_);
  data_.reset(static_cast<float*>(::operator new[](bytes, kAlignment)));
  prefer_large_pages(data_.get(), bytes);
}

Tensor Tensor::clone() const {
  if (!data_) return {};
  Tensor copy(shape_);
  std::copy_n(data_.get(), size(), copy.data());
  return copy;
}

}  // namespace vit
