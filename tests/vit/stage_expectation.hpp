// What an observer of a network must be shown, and how far off float32 arithmetic may be.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/reference/network.hpp"
#include "tests/vit/network_cases.hpp"
#include "vit/observer.hpp"

namespace vit::test {

struct ExpectedStage {
  Stage stage;
  std::int64_t block;
  reference::Array values;
  double bound = 0;  ///< for max |got − values| / max |values|
};

/// All stages in the order in which an observer sees them, computed by the naive network.
///
/// The bounds: a dot product of length K in float32 is the exact dot product of factors that are off by about
/// √K u, u = 2^-24 (rounding errors are as good as random; K u would be the worst case), and storing a result
/// adds one more u. So the computed network is an exact one whose weights, pixels and intermediate results
/// are off by √K u, K the longest reduction. How much that moves each stage is measured by moving all of them
/// by u at random.
std::vector<ExpectedStage> expected_stages(const NetworkCase& c);

/// The same for a reduced precision, whose products round their operands: bf16 by 2⁻⁸ of each number at most,
/// 8 bits by half a level of a row's range. The bound is what the network moves by when the weights of its
/// products and all results are moved at random by as much, the
/// most of several times.
std::vector<ExpectedStage> expected_stages(const NetworkCase& c, Precision precision);

/// As above without bounds, for a config other than the one that the case's weights are for.
std::vector<ExpectedStage> stages_of(const NetworkCase& c, const ModelConfig& config);

/// max |a − b| / max |a|, of equal shapes.
double distance(const reference::Array& a, const reference::Array& b);

}  // namespace vit::test
