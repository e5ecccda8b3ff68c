#include "tests/support/alloc_counter.hpp"

#include <execinfo.h>
#include <link.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string_view>

namespace vit::test {
namespace {

std::atomic<bool> counting{false};
std::atomic<std::size_t> count_ours{0};
std::atomic<std::size_t> count_theirs{0};

enum class Owner { program, standard_library, other };

struct Lookup {
  std::uintptr_t address;
  Owner owner;
};

// dl_iterate_phdr visits the program itself first, with an empty name.
int find_owner(dl_phdr_info* object, std::size_t /*size*/, void* data) {
  auto& lookup = *static_cast<Lookup*>(data);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || lookup.address < begin || lookup.address >= begin + segment.p_memsz)
      continue;
    const std::string_view name = object->dlpi_name;
    const bool standard = name.find("libstdc++") != name.npos || name.find("libc++") != name.npos;
    lookup.owner = name.empty() ? Owner::program : standard ? Owner::standard_library : Owner::other;
    return 1;
  }
  return 0;
}

Owner owner_of(void* address) {
  Lookup lookup{reinterpret_cast<std::uintptr_t>(address), Owner::other};
  dl_iterate_phdr(find_owner, &lookup);
  return lookup.owner;
}

// The first caller that is not the standard library decides whose the allocation is. The innermost frames are
// this file's.
void count_allocation(void* caller) {
  thread_local bool busy = false;  // backtrace() may allocate itself
  if (busy) return;
  busy = true;
  Owner owner = owner_of(caller);
  if (owner == Owner::standard_library) {
    std::array<void*, 32> frames{};
    const int depth = backtrace(frames.data(), static_cast<int>(frames.size()));
    bool outside = false;  // of this file
    for (int i = 0; i < depth && (!outside || owner == Owner::standard_library); ++i) {
      outside = outside || frames[static_cast<std::size_t>(i)] == caller;
      if (outside) owner = owner_of(frames[static_cast<std::size_t>(i)]);
    }
  }
  (owner == Owner::other ? count_theirs : count_ours).fetch_add(1, std::memory_order_relaxed);
  busy = false;
}

void* allocate_or_null(std::size_t size, std::size_t alignment, void* caller) noexcept {
  if (counting.load(std::memory_order_relaxed)) count_allocation(caller);
  if (size == 0) size = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate(std::size_t size, std::size_t alignment, void* caller) {
  void* p = allocate_or_null(size, alignment, caller);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

AllocationCount::AllocationCount() {
  std::array<void*, 2> warm_up{};
  backtrace(warm_up.data(), 2);  // loads the unwinder, which allocates once
  count_ours = 0;
  count_theirs = 0;
  counting = true;
}

AllocationCount::~AllocationCount() {
  counting = false;
}

std::size_t AllocationCount::ours() const {
  return count_ours;
}
std::size_t AllocationCount::theirs() const {
  return count_theirs;
}

}  // namespace vit::test

// Every form is replaced: a sanitizer's runtime brings its own of those that are not, and they would not fit
// together.
#define VITRINE_NEW(name)                                                                            \
  void* name(std::size_t n) {                                                                        \
    return vit::test::allocate(n, 0, __builtin_return_address(0));                                   \
  }                                                                                                  \
  void* name(std::size_t n, std::align_val_t a) {                                                    \
    return vit::test::allocate(n, static_cast<std::size_t>(a), __builtin_return_address(0));         \
  }                                                                                                  \
  void* name(std::size_t n, const std::nothrow_t&) noexcept {                                        \
    return vit::test::allocate_or_null(n, 0, __builtin_return_address(0));                           \
  }                                                                                                  \
  void* name(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {                    \
    return vit::test::allocate_or_null(n, static_cast<std::size_t>(a), __builtin_return_address(0)); \
  }
#define VITRINE_DELETE(name)                                             \
  void name(void* p) noexcept {                                          \
    std::free(p);                                                        \
  }                                                                      \
  void name(void* p, std::size_t) noexcept {                             \
    std::free(p);                                                        \
  }                                                                      \
  void name(void* p, std::align_val_t) noexcept {                        \
    std::free(p);                                                        \
  }                                                                      \
  void name(void* p, std::size_t, std::align_val_t) noexcept {           \
    std::free(p);                                                        \
  }                                                                      \
  void name(void* p, const std::nothrow_t&) noexcept {                   \
    std::free(p);                                                        \
  }                                                                      \
  void name(void* p, std::align_val_t, const std::nothrow_t&) noexcept { \
    std::free(p);                                                        \
  }

VITRINE_NEW(operator new)
VITRINE_NEW(operator new[])
VITRINE_DELETE(operator delete)
VITRINE_DELETE(operator delete[])
