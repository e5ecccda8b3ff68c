// The innermost loops of export/matmul, portable and for AVX2.
#pragma once

#include <cstdint>

namespace vit::exporter {

constexpr std::int64_t kTileRows = 6;
constexpr std::int64_t kTileCols = 16;

/// A tile's factors, packed so that both are read once from front to back.
struct TilePanels {
  std::int64_t depth = 0;
  const float* a = nullptr;  ///< [depth, kTileRows]
  const float* b = nullptr;  ///< [depth, kTileCols]
};

enum class TileStart { zero, add };

/// c [kTileRows, kTileCols], rows `stride` apart, = (zero) or += (add) aᵀ b.
using TileKernel = void (*)(const TilePanels& panels, float* c, std::int64_t stride, TileStart start);

void tile_portable(const TilePanels& panels, float* c, std::int64_t stride, TileStart start);

/// nullptr where the compiler or this processor does not know AVX2 and FMA.
TileKernel tile_avx2();

}  // namespace vit::exporter
