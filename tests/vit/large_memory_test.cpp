#include "vit/large_memory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace vit::test {
namespace {

TEST(LargeMemory, BeginsAtALargePageAndIsZero) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, (std::size_t{2} << 20) - 1,
                                  std::size_t{2} << 20, (std::size_t{2} << 20) + 1}) {
    const LargeMemory memory(bytes);
    ASSERT_NE(memory.data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % (2U << 20), 0U) << bytes;
    for (const std::size_t at : {std::size_t{0}, bytes / 2, bytes}) {
      if (at >= bytes) continue;
      EXPECT_EQ(memory.data()[at], std::byte{0});
    }
    std::memset(memory.data(), 7, bytes);
  }
}

TEST(LargeMemory, MovesWithoutItsBytes) {
  LargeMemory first(10);
  std::byte* const data = first.data();
  data[3] = std::byte{42};
  LargeMemory second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(second.data()[3], std::byte{42});
  second = LargeMemory(20);
  EXPECT_EQ(second.data()[3], std::byte{0});
  EXPECT_EQ(LargeMemory().data(), nullptr);
}

TEST(LargeMemory, WhatCannotBeIsBadAlloc) {
  EXPECT_THROW(LargeMemory(std::numeric_limits<std::size_t>::max()), std::bad_alloc);
  EXPECT_THROW(LargeMemory(std::size_t{1} << 60), std::bad_alloc);
}

}  // namespace
}  // namespace vit::test
