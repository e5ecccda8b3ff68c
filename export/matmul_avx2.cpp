// The kernel of export/matmul for AVX2 and FMA: 12 sums, 2 registers of b and one of a, of the 16 that there
// are. Each step does 12 independent multiply-adds, enough to hide their latency.
#include "export/matmul_kernels.hpp"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

namespace vit::exporter {
namespace {

__attribute__((target("avx2,fma"))) void tile(const TilePanels& panels, float* c, std::int64_t stride,
                                              TileStart start) {
  __m256 sums[kTileRows][2];
  for (std::int64_t r = 0; r < kTileRows; ++r) {
    sums[r][0] = _mm256_setzero_ps();
    sums[r][1] = _mm256_setzero_ps();
  }
  const float* a = panels.a;
  const float* b = panels.b;
  for (std::int64_t k = 0; k < panels.depth; ++k, a += kTileRows, b += kTileCols) {
    const __m256 left = _mm256_loadu_ps(b);
    const __m256 right = _mm256_loadu_ps(b + 8);
    for (std::int64_t r = 0; r < kTileRows; ++r) {
      const __m256 factor = _mm256_broadcast_ss(a + r);
      sums[r][0] = _mm256_fmadd_ps(factor, left, sums[r][0]);
      sums[r][1] = _mm256_fmadd_ps(factor, right, sums[r][1]);
    }
  }
  for (std::int64_t r = 0; r < kTileRows; ++r, c += stride) {
    if (start == TileStart::add) {
      sums[r][0] = _mm256_add_ps(sums[r][0], _mm256_loadu_ps(c));
      sums[r][1] = _mm256_add_ps(sums[r][1], _mm256_loadu_ps(c + 8));
    }
    _mm256_storeu_ps(c, sums[r][0]);
    _mm256_storeu_ps(c + 8, sums[r][1]);
  }
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
