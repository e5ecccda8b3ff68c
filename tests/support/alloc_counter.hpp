// Counts heap allocations, to prove that a piece of code makes none. Linking alloc_counter.cpp replaces the
// program's operator new and delete, so it belongs only to test programs that ask for it (target
// vitrine_alloc_counter).
#pragma once

#include <cstddef>

namespace vit::test {

/// While one of these lives, every operator new of the process is counted, in all threads. One at a time.
class AllocationCount {
 public:
  AllocationCount();
  ~AllocationCount();
  AllocationCount(const AllocationCount&) = delete;
  AllocationCount& operator=(const AllocationCount&) = delete;

  /// Made by this program: its own code, and what the standard library does on its behalf.
  std::size_t ours() const;
  /// Made by other shared libraries, such as oneDNN.
  std::size_t theirs() const;
};

}  // namespace vit::test
