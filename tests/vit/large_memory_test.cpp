#include "vit/large_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <thread>
#include <utility>
#include <vector>

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

TEST(LargeMemoryPool, PiecesAreZerosAlignedAndApart) {
  LargeMemoryPool pool;
  std::vector<std::pair<std::byte*, std::size_t>> pieces;
  // Beyond one block, in one piece and in many; what is left of a block is too little for the piece after it.
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{0}, std::size_t{64}, std::size_t{65}, std::size_t{40} << 20,
        std::size_t{40} << 20, std::size_t{3}, std::size_t{100} << 20, std::size_t{5000}})
    pieces.emplace_back(pool.take(bytes), bytes);
  unsigned char mark = 0;
  for (const auto& [data, bytes] : pieces) {
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0U);
    if (bytes == 0) continue;
    EXPECT_EQ(data[0], std::byte{0});
    EXPECT_EQ(data[bytes - 1], std::byte{0});
    data[0] = data[bytes - 1] = std::byte{++mark};
  }
  mark = 0;
  for (const auto& [data, bytes] : pieces) {
    if (bytes == 0) continue;
    EXPECT_EQ(data[bytes - 1], std::byte{++mark});
    EXPECT_EQ(data[0], std::byte{mark});
  }
}

TEST(LargeMemoryPool, ThreadsShareIt) {
  LargeMemoryPool pool;
  const auto take = [&pool](std::vector<std::byte*>& taken, std::byte mark) {
    for (int i = 0; i < 200; ++i) {
      taken.push_back(pool.take(1000));
      std::memset(taken.back(), static_cast<int>(mark), 1000);
    }
  };
  std::vector<std::byte*> here;
  std::vector<std::byte*> there;
  std::thread other([&] { take(there, std::byte{2}); });
  take(here, std::byte{1});
  other.join();
  for (const std::byte* piece : here)
    EXPECT_TRUE(std::all_of(piece, piece + 1000, [](std::byte b) { return b == std::byte{1}; }));
  for (const std::byte* piece : there)
    EXPECT_TRUE(std::all_of(piece, piece + 1000, [](std::byte b) { return b == std::byte{2}; }));
}

TEST(LargeMemoryPool, WhatCannotBeIsBadAllocAndLeavesTheRest) {
  LargeMemoryPool pool;
  std::byte* const before = pool.take(8);
  before[0] = std::byte{42};
  EXPECT_THROW(pool.take(std::numeric_limits<std::size_t>::max()), std::bad_alloc);
  EXPECT_THROW(pool.take(std::size_t{1} << 60), std::bad_alloc);
  EXPECT_EQ(before[0], std::byte{42});
  EXPECT_EQ(pool.take(8), before + 64);
}

}  // namespace
}  // namespace vit::test
