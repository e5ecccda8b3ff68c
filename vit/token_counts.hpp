// How many tokens each block works on where some are merged (vit/token_merging.hpp says how).
#pragma once

#include <cstdint>
#include <vector>

#include "vit/config.hpp"

namespace vit {

/// Throws Error(invalid_argument) for a negative number of tokens to merge in every block, and for a network
/// whose tokens cannot be merged, saying why.
void validate_merge(const ModelConfig& config, std::int64_t merge);

/// T of an image in front of each block and behind the last one, L + 1 numbers: `merge` fewer from one to the
/// next, but never less than half of the patches' tokens that a block is given.
std::vector<std::int64_t> token_counts(const ModelConfig& config, Size2 image, std::int64_t merge = 0);

}  // namespace vit
