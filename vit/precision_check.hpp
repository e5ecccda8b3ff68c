// Whether a reduced precision may be used: the processor has it, and its products are right. Internal to
// vit/.
#pragma once

#include <string>

#include "vit/config.hpp"
#include "vit/precision.hpp"
#include "vit/weights.hpp"

namespace vit {

/// Why the precision cannot be used for this network; empty if it can. The products of the first block's
/// layers are compared with the same in fp32, on a few rows.
std::string why_not(Precision precision, const ModelConfig& config, const Weights& weights);

}  // namespace vit
