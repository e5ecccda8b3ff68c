#include "export/matmul.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "export/matmul_kernels.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/random.hpp"

namespace vit::exporter {
namespace {

enum class Layout { plain, transposed };

struct MatmulCase {
  std::int64_t rows, depth, cols;
  std::size_t products = 1;
  Layout a = Layout::plain;
  Layout b = Layout::plain;
};

std::vector<double> product_of(const MatmulCase& c, const ProductShape& shape, const float* a,
                               const float* b) {
  std::vector<double> result;
  for (std::int64_t r = 0; r < c.rows; ++r) {
    for (std::int64_t j = 0; j < c.cols; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < c.depth; ++k) {
        sum +=
            static_cast<double>(a[r * shape.a.row + k * shape.a.col]) * b[k * shape.b.row + j * shape.b.col];
      }
      result.push_back(sum);
    }
  }
  return result;
}

void check(const MatmulCase& c, int threads) {
  Workers workers(threads);
  ProductShape shape{c.rows, c.depth, c.cols, {c.depth, 1}, {c.cols, 1}, c.cols};
  if (c.a == Layout::transposed) shape.a = {1, c.rows};
  if (c.b == Layout::transposed) shape.b = {1, c.depth};
  std::vector<Tensor> a, b, results;
  std::vector<Product> products;
  for (std::size_t i = 0; i < c.products; ++i) {
    a.push_back(test::normal_tensor({c.rows, c.depth}, 1 + static_cast<std::uint32_t>(i)));
    b.push_back(test::normal_tensor({c.depth, c.cols}, 99 + static_cast<std::uint32_t>(i)));
    results.emplace_back(Shape{c.rows, c.cols});
    products.push_back({a.back().data(), b.back().data(), results.back().data()});
  }
  matmul(shape, products, workers);
  for (std::size_t i = 0; i < c.products; ++i) {
    // float32 sums of blocks of 256 products: √256 half-units each
    EXPECT_TRUE(
        test::matches("product", results[i].view(), product_of(c, shape, a[i].data(), b[i].data()), {2e-6}))
        << c.rows << "x" << c.depth << "x" << c.cols << ", product " << i;
  }
}

TEST(Matmul, AgreesWithTheDefinition) {
  for (const int threads : {1, 3}) {
    for (const std::int64_t rows : {1, 5, 6, 97, 200}) {
      for (const std::int64_t cols : {1, 15, 16, 33, 200}) {
        for (const std::int64_t depth : {1, 64, 257, 600}) check({rows, depth, cols}, threads);
      }
    }
  }
}

TEST(Matmul, TransposedFactorsAndSeveralProducts) {
  for (const Layout a : {Layout::plain, Layout::transposed}) {
    for (const Layout b : {Layout::plain, Layout::transposed}) {
      check({17, 65, 19, 3, a, b}, 2);
      check({101, 300, 49, 7, a, b}, 3);
    }
  }
}

TEST(Matmul, MoreColumnsThanABlock) {
  check({3, 5, 20000}, 2);
  check({2, 300, 5000, 9}, 2);  // more products than are packed at once
}

TEST(Matmul, KernelsAgree) {
  if (tile_avx2() == nullptr) GTEST_SKIP() << "this processor has no AVX2";
  for (const std::int64_t depth : {1, 2, 63, 256}) {
    const Tensor a = test::normal_tensor({depth, kTileRows}, 1);
    const Tensor b = test::normal_tensor({depth, kTileCols}, 2);
    for (const TileStart start : {TileStart::zero, TileStart::add}) {
      Tensor expected = test::normal_tensor({kTileRows, 20}, 3);
      Tensor got = expected.clone();
      const TilePanels panels{depth, a.data(), b.data()};
      tile_portable(panels, expected.data(), 20, start);
      tile_avx2()(panels, got.data(), 20, start);
      EXPECT_TRUE(test::matches("tile", got.view(), expected.view(), {2e-6}));
    }
  }
}

TEST(Workers, EveryIndexOnce) {
  for (const int threads : {1, 2, 5}) {
    Workers workers(threads);
    for (const std::int64_t count : {0, 1, 7, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
      workers.for_parts(count, 3, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      for (const std::atomic<int>& times : seen) EXPECT_EQ(times, 1);
    }
  }
}

TEST(Workers, ExceptionsReachTheCallerAndTheNextLoopRuns) {
  Workers workers(3);
  for (int i = 0; i < 20; ++i) {
    const auto fail = [](std::int64_t begin, std::int64_t) {
      if (begin == 0) throw std::runtime_error("enough");
    };
    EXPECT_THROW(workers.for_parts(100, 1, fail), std::runtime_error);
    std::atomic<std::int64_t> total = 0;
    workers.for_parts(100, 1, [&](std::int64_t begin, std::int64_t end) { total += end - begin; });
    EXPECT_EQ(total, 100);
  }
}

}  // namespace
}  // namespace vit::exporter
