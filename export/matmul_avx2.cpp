// The kernel of export/matmul for AVX2 and FMA: 12 sums, 2 registers of b and one of a, of the 16 that there
// are. Each step does 12 independent multiply-adds, enough to hide their latency.
#include "export/matmul_kernels.hpp"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

namespace vit::exporter {
namespace {

#define VITRINE_AVX2 __attribute__((target("avx2,fma"))) inline

/// Sums of one row of the tile.
struct Row {
  __m256 left = {};
  __m256 right = {};
};

VITRINE_AVX2 void add_products(Row& row, const float* factor, const Row& b) {
  const __m256 a = _mm256_broadcast_ss(factor);
  row.left = _mm256_fmadd_ps(a, b.left, row.left);
  row.right = _mm256_fmadd_ps(a, b.right, row.right);
}

VITRINE_AVX2 void store(const Row& row, float* c, TileStart start) {
  if (start == TileStart::zero) {
    _mm256_storeu_ps(c, row.left);
    _mm256_storeu_ps(c + 8, row.right);
  } else {
    _mm256_storeu_ps(c, _mm256_add_ps(row.left, _mm256_loadu_ps(c)));
    _mm256_storeu_ps(c + 8, _mm256_add_ps(row.right, _mm256_loadu_ps(c + 8)));
  }
}

// Rows by name: of an array the compiler would keep some in memory.
VITRINE_AVX2 void tile(const TilePanels& panels, float* c, std::int64_t stride, TileStart start) {
  static_assert(kTileRows == 6 && kTileCols == 16);
  Row row0, row1, row2, row3, row4, row5;
  const float* a = panels.a;
  const float* b = panels.b;
  for (std::int64_t k = 0; k < panels.depth; ++k, a += kTileRows, b += kTileCols) {
    const Row factors{_mm256_loadu_ps(b), _mm256_loadu_ps(b + 8)};
    add_products(row0, a, factors);
    add_products(row1, a + 1, factors);
    add_products(row2, a + 2, factors);
    add_products(row3, a + 3, factors);
    add_products(row4, a + 4, factors);
    add_products(row5, a + 5, factors);
  }
  store(row0, c, start);
  store(row1, c + stride, start);
  store(row2, c + 2 * stride, start);
  store(row3, c + 3 * stride, start);
  store(row4, c + 4 * stride, start);
  store(row5, c + 5 * stride, start);
}

}  // namespace

TileKernel tile_avx2() {
  static const bool available = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return available ? tile : nullptr;
}

}  // namespace vit::exporter

#else

namespace vit::exporter {

TileKernel tile_avx2() {
  return nullptr;
}

}  // namespace vit::exporter

#endif
