#include "vit/tensor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <new>

namespace vit::test {
namespace {

TEST(Tensor, IsAlignedAndMoves) {
  for (const std::int64_t size : {1, 3, 1000}) {
    Tensor tensor({size, 2});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0U);
    EXPECT_EQ(tensor.size(), 2 * size);
    const float* data = tensor.data();
    const Tensor moved = std::move(tensor);
    EXPECT_EQ(moved.data(), data);
  }
}

TEST(Tensor, ClonesItsElements) {
  Tensor tensor({2, 3});
  std::fill(tensor.elements().begin(), tensor.elements().end(), 5.0F);
  Tensor copy = tensor.clone();
  tensor.data()[0] = 1;
  EXPECT_EQ(copy.shape(), tensor.shape());
  EXPECT_TRUE(std::all_of(copy.elements().begin(), copy.elements().end(), [](float x) { return x == 5; }));
  EXPECT_EQ(Tensor().clone().data(), nullptr);
}

TEST(Tensor, EmptyOnes) {
  EXPECT_EQ(Tensor().size(), 0);
  EXPECT_EQ(Tensor(Shape{3, 0}).size(), 0);
  EXPECT_EQ(Tensor(Shape{}).size(), 1) << "a scalar";
}

TEST(Tensor, RefusesSizesBeyondCounting) {
  const std::int64_t big = std::int64_t{1} << 31;
  EXPECT_THROW(Tensor({big, big, 4}), std::bad_alloc);  // 2^64 elements: 0 in 64 bits
  EXPECT_THROW(Tensor({big, big}), std::bad_alloc);     // 2^64 bytes
  EXPECT_THROW(Tensor({big, big, big, 0}), std::bad_alloc);
  EXPECT_THROW(Tensor({-1, 8}), std::bad_alloc);
}

TEST(Shapes, AsText) {
  EXPECT_EQ(to_string(Shape{}), "[]");
  EXPECT_EQ(to_string(Shape{3, 224, 224}), "[3, 224, 224]");
}

}  // namespace
}  // namespace vit::test
