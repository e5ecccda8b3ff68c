// After K. Goto, R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008: a block of b is
// packed once for all threads, each thread packs blocks of rows of a, and a small kernel multiplies the two.
#include "export/matmul.hpp"

#include <algorithm>

#include "export/matmul_kernels.hpp"
#include "vit/tensor.hpp"

namespace vit::exporter {

void tile_portable(const TilePanels& panels, float* c, std::int64_t stride, TileStart start) {
  float sums[kTileRows][kTileCols] = {};
  const float* a = panels.a;
  const float* b = panels.b;
  for (std::int64_t k = 0; k < panels.depth; ++k, a += kTileRows, b += kTileCols) {
    for (std::int64_t r = 0; r < kTileRows; ++r) {
      for (std::int64_t j = 0; j < kTileCols; ++j) sums[r][j] += a[r] * b[j];
    }
  }
  for (std::int64_t r = 0; r < kTileRows; ++r, c += stride) {
    for (std::int64_t j = 0; j < kTileCols; ++j) c[j] = sums[r][j] + (start == TileStart::add ? c[j] : 0);
  }
}

namespace {

constexpr std::int64_t kDepthBlock = 256;             // a panel of b, 16 KiB, stays in the first-level cache
constexpr std::int64_t kRowBlock = 16 * kTileRows;    // a block of a, 96 KiB, in the second-level cache
constexpr std::int64_t kColBlock = 1024 * kTileCols;  // a block of b, 16 MiB at most, bounds the memory

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

struct Range {
  std::int64_t begin;
  std::int64_t end;

  std::int64_t size() const { return end - begin; }
};

/// [depth, width] <- up to `width` lines of a matrix, `line` apart, their elements along the depth `step`
/// apart; zeros for lines that do not exist.
template <std::int64_t width>
void pack(const float* from, std::int64_t lines, MatrixStrides line_and_step, std::int64_t depth, float* to) {
  const auto [line, step] = line_and_step;
  if (lines == width && line == 1) {
    for (std::int64_t k = 0; k < depth; ++k) std::copy_n(from + k * step, width, to + k * width);
    return;
  }
  for (std::int64_t i = 0; i < width; ++i) {
    for (std::int64_t k = 0; k < depth; ++k) to[k * width + i] = i < lines ? from[i * line + k * step] : 0;
  }
}

/// One block of b of some products, and what is done with it.
class Block {
 public:
  Block(const ProductShape& shape, std::span<const Product> products, Range depth, Range cols)
      : shape_(shape), products_(products), depth_(depth), cols_(cols) {
    panels_ = ceil_div(cols.size(), kTileCols);
    static const TileKernel best = tile_avx2() != nullptr ? tile_avx2() : tile_portable;
    kernel_ = best;
  }

  /// `packed`: room for products × depth × columns, these rounded up to tiles.
  void multiply(float* packed, Workers& workers) const {
    const auto count = static_cast<std::int64_t>(products_.size());
    workers.for_parts(count * panels_, 8, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) pack_b(i, packed + i * panel_size());
    });

    const std::int64_t row_blocks = ceil_div(shape_.rows, kRowBlock);
    // Few rows: the columns are shared out as well.
    const std::int64_t col_parts =
        std::clamp<std::int64_t>(ceil_div(4 * workers.size(), count * row_blocks), 1, panels_);
    workers.for_parts(count * row_blocks * col_parts, 1, [&](std::int64_t begin, std::int64_t end) {
      Tensor packed_a({kRowBlock, depth_.size()});
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t product = i / (row_blocks * col_parts);
        const std::int64_t first = i / col_parts % row_blocks * kRowBlock;
        const std::int64_t part = i % col_parts;
        const float* b = packed + product * panels_ * panel_size();
        multiply_rows(products_[static_cast<std::size_t>(product)], b,
                      {first, std::min(first + kRowBlock, shape_.rows)},
                      {part * panels_ / col_parts, (part + 1) * panels_ / col_parts}, packed_a.data());
      }
    });
  }

 private:
  std::int64_t panel_size() const { return depth_.size() * kTileCols; }

  void pack_b(std::int64_t index, float* to) const {
    const std::int64_t col = cols_.begin + index % panels_ * kTileCols;
    const float* from = products_[static_cast<std::size_t>(index / panels_)].b + depth_.begin * shape_.b.row +
                        col * shape_.b.col;
    pack<kTileCols>(from, std::min(kTileCols, cols_.end - col), {shape_.b.col, shape_.b.row}, depth_.size(),
                    to);
  }

  void multiply_rows(const Product& product, const float* b, Range rows, Range panels,
                     float* packed_a) const {
    for (std::int64_t r = rows.begin; r < rows.end; r += kTileRows) {
      pack<kTileRows>(product.a + r * shape_.a.row + depth_.begin * shape_.a.col,
                      std::min(kTileRows, rows.end - r), {shape_.a.row, shape_.a.col}, depth_.size(),
                      packed_a + (r - rows.begin) * depth_.size());
    }
    for (std::int64_t p = panels.begin; p < panels.end; ++p) {
      for (std::int64_t r = rows.begin; r < rows.end; r += kTileRows) {
        const std::int64_t col = cols_.begin + p * kTileCols;
        multiply_tile({depth_.size(), packed_a + (r - rows.begin) * depth_.size(), b + p * panel_size()},
                      product.c + r * shape_.c_row + col, std::min(kTileRows, rows.end - r),
                      std::min(kTileCols, cols_.end - col));
      }
    }
  }

  void multiply_tile(const TilePanels& panels, float* c, std::int64_t rows, std::int64_t cols) const {
    const TileStart start = depth_.begin == 0 ? TileStart::zero : TileStart::add;
    if (rows == kTileRows && cols == kTileCols) return kernel_(panels, c, shape_.c_row, start);
    float tile[kTileRows * kTileCols];
    kernel_(panels, tile, kTileCols, TileStart::zero);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t j = 0; j < cols; ++j) {
        float& sum = c[r * shape_.c_row + j];
        sum = tile[r * kTileCols + j] + (start == TileStart::add ? sum : 0);
      }
    }
  }

  const ProductShape& shape_;
  std::span<const Product> products_;
  Range depth_;
  Range cols_;
  std::int64_t panels_ = 0;
  TileKernel kernel_ = nullptr;
};

}  // namespace

void matmul(const ProductShape& shape, std::span<const Product> products, Workers& workers) {
  if (shape.rows == 0 || shape.cols == 0 || products.empty()) return;
  if (shape.depth == 0) {
    for (const Product& product : products) {
      for (std::int64_t r = 0; r < shape.rows; ++r)
        std::fill_n(product.c + r * shape.c_row, shape.cols, 0.0F);
    }
    return;
  }
  const std::int64_t most_cols = ceil_div(std::min(kColBlock, shape.cols), kTileCols) * kTileCols;
  const std::size_t group =  // products at once
      std::min(static_cast<std::size_t>(kColBlock / most_cols), products.size());
  Tensor packed({static_cast<std::int64_t>(group), most_cols, std::min(kDepthBlock, shape.depth)});
  for (std::size_t first = 0; first < products.size(); first += group) {
    const auto some = products.subspan(first, std::min(group, products.size() - first));
    for (std::int64_t col = 0; col < shape.cols; col += kColBlock) {
      for (std::int64_t k = 0; k < shape.depth; k += kDepthBlock) {
        const Block block(shape, some, {k, std::min(k + kDepthBlock, shape.depth)},
                          {col, std::min(col + kColBlock, shape.cols)});
        block.multiply(packed.data(), workers);
      }
    }
  }
}

}  // namespace vit::exporter
