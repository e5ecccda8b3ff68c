// Pictures of how good a classifier is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/evaluation_metrics.hpp"
#include "io/image.hpp"

namespace vit::io {

/// Counts of pictures, a row for each truth and a column for each prediction.
struct ConfusionChart {
  std::vector<std::string> names;                 ///< of the classes; what is not ASCII appears as "?"
  std::vector<std::vector<std::int64_t>> counts;  ///< [classes][classes]
  std::string title;                              ///< ASCII
};

/// The matrix on white, the share of its row as the colour of a cell, counts in the cells. For some tens of
/// classes. Throws Error: invalid_argument (no classes, or counts that do not fit them), internal.
Image draw_confusion(const ConfusionChart& chart);

/// The share that is right over the score that was claimed, for each bin, and how many pictures are in it.
/// Throws Error(internal).
Image draw_reliability(const Calibration& calibration);

/// A picture fitted into a white square of `size` pixels, its proportions kept. Throws Error:
/// invalid_argument (no pixels), internal.
Image fit_into_square(const Image& image, int size);

}  // namespace vit::io
