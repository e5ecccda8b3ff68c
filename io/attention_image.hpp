// Attention maps as pictures: colours over the picture that was looked at.
#pragma once

#include <cstdint>

#include "io/image.hpp"
#include "io/preprocess.hpp"
#include "vit/config.hpp"
#include "vit/tensor.hpp"

namespace vit::io {

/// Where the cells of a map lie on a picture, in its pixels: cell n between at(n) and at(n + 1).
struct MapPlacement {
  AxisGeometry rows;
  AxisGeometry columns;
};

/// A map with a cell for each patch of the input.
MapPlacement place_patches(const InputGeometry& geometry, Size2 patch);

struct OverlayOptions {
  double alpha = 0.6;  ///< of the colours, 0 (only the picture) to 1 (only the map)
  double clip = 0;  ///< share of the cells, 0 to 1, whose values count as no more than the next lower one: a
                    ///< few outliers leave no colours to the rest
};

/// A picture with a map over it. The map's lowest value becomes the darkest colour of OpenCV's inferno, its
/// highest the brightest, and between the middles of cells the values are interpolated. What the network has
/// not seen (outside of the crop) keeps its colours, faded.
/// `map` is [rows, columns] and finite, `picture` as the network got it: still to be turned upright if its
/// orientation says so. The result has the picture's orientation. Thread-safe. Throws Error: invalid_argument
/// (no map, or pixels that are no picture), internal; std::bad_alloc.
Image draw_overlay(const Image& picture, const ConstTensorView& map, const MapPlacement& placement,
                   const OverlayOptions& options = {});

/// The picture in proportion, its longer side of `side` pixels. Throws Error(invalid_argument);
/// std::bad_alloc.
Image thumbnail(const Image& picture, std::int64_t side);

/// The placement on a picture of `from` pixels, on the same one resized to `to`.
MapPlacement rescaled(const MapPlacement& placement, Size2 from, Size2 to);

}  // namespace vit::io
