// The filters of Pillow, which PyTorch's antialiased interpolation took over, and their weights. Internal.
#pragma once

#include <cstdint>
#include <vector>

#include "io/resample.hpp"

namespace vit::io {

struct Filter {
  double (*value)(double);
  double support;  ///< half of its width, in output pixels when shrinking, in input pixels when enlarging
};

/// Throws Error(internal) for nearest, which has no weights.
Filter filter_of(Interpolation interpolation);

/// One axis of a resize: `outputs` positions from `begin` on of the `target` that `source` becomes.
struct Axis {
  std::int64_t source = 0;
  std::int64_t target = 0;
  std::int64_t begin = 0;
  std::int64_t outputs = 0;

  bool unchanged() const { return source == target; }
};

/// How the inputs of an axis add up to each of its outputs.
class FilterWeights {
 public:
  FilterWeights(const Axis& axis, const Filter& filter);

  /// Of an output: inputs [first, first + weight.size()), with a sum of 1.
  struct Output {
    std::int64_t first = 0;
    std::vector<double> weight;
  };

  /// The i-th output counted from axis.begin. The order of the operations is Pillow's: another one rounds
  /// differently.
  void compute(std::int64_t i, Output& output) const;

  /// Most inputs that any output has.
  std::int64_t most() const;

 private:
  Axis axis_;
  Filter filter_;
  double scale_;
  double stretch_;  // antialias only when shrinking
  double support_;
};

}  // namespace vit::io
