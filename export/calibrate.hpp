// How large the values become that 8-bit arithmetic rounds: measured on pictures.
#pragma once

#include <functional>
#include <optional>

#include "export/vit_graph.hpp"
#include "vit/tensor.hpp"

namespace vit::exporter {

/// The next picture, f32 [C, H, W] as the network takes it; nothing at the end.
using NextPicture = std::function<std::optional<Tensor>()>;

/// Evaluates `graph` (of vit_graph, fp32 weights, float input, no ranges) on every picture. For each value
/// that quantized_values names, the range is the one whose rounding to 8 bits, values beyond it clipped,
/// costs the least squared error. Throws Error: invalid_argument (no pictures, or of another size),
/// not_finite.
ActivationRanges calibrate(const Graph& graph, const NextPicture& next, int threads);

}  // namespace vit::exporter
