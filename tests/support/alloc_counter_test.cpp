// The counter must see what it is there to see.
#include "tests/support/alloc_counter.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace vit::test {
namespace {

// Keeps the compiler from leaving an allocation out, which it may do where nobody looks at the memory.
void use(const void* memory) {
  asm volatile("" : : "g"(memory) : "memory");
}

TEST(AllocationCount, CodeWithoutAllocationsCountsNothing) {
  std::vector<float> values(100);
  const AllocationCount count;
  for (float& v : values) v = v * 2 + 1;
  EXPECT_EQ(count.ours(), 0U);
  EXPECT_EQ(count.theirs(), 0U);
}

TEST(AllocationCount, VectorsStringsAndAlignedMemoryAreOurs) {
  const AllocationCount count;
  std::vector<float> values(100);
  use(values.data());
  EXPECT_EQ(count.ours(), 1U) << "a vector: allocated by code compiled into the program";
  std::string text = "short";
  text.append(values.size(), 'x');
  EXPECT_EQ(count.ours(), 2U) << "a string: allocated inside the standard library, for the program";
  struct alignas(64) Line {
    float values[16];
  };
  auto line = std::make_unique<Line>();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(line.get()) % 64, 0U);
  EXPECT_EQ(count.ours(), 3U);
  std::unique_ptr<float[]> array(new float[3]);
  use(array.get());
  EXPECT_EQ(count.ours(), 4U) << "new[]";
}

TEST(AllocationCount, OtherThreadsAreSeen) {
  std::size_t before = 0, after = 0;
  {
    const AllocationCount count;
    std::thread worker([&] {
      before = count.ours();
      const std::vector<int> values(1000);
      use(values.data());
      after = count.ours();
    });
    worker.join();
  }
  EXPECT_EQ(after, before + 1);
}

TEST(AllocationCount, NothingIsCountedOutsideItsLife) {
  { const AllocationCount count; }
  const std::vector<int> values(1000);
  use(values.data());
  const AllocationCount count;
  EXPECT_EQ(count.ours(), 0U);
}

}  // namespace
}  // namespace vit::test
