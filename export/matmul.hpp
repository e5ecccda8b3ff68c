// Products of matrices in f32, for the evaluator of graphs.
#pragma once

#include <cstdint>
#include <span>

#include "export/workers.hpp"

namespace vit::exporter {

/// Distances between neighbours, in elements. A transposed matrix has them swapped.
struct MatrixStrides {
  std::int64_t row = 0;
  std::int64_t col = 1;
};

/// a [rows, depth] · b [depth, cols] = c [rows, cols], whose columns are neighbours.
struct ProductShape {
  std::int64_t rows = 0;
  std::int64_t depth = 0;
  std::int64_t cols = 0;
  MatrixStrides a;
  MatrixStrides b;
  std::int64_t c_row = 0;
};

struct Product {
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
};

/// Several products of the same shape. The c must not overlap each other, nor any factor.
void matmul(const ProductShape& shape, std::span<const Product> products, Workers& workers);

}  // namespace vit::exporter
