// The residual connection of a branch that a norm ends.
#pragma once

#include <cstdint>

namespace vit::backend {

/// x = x + branch, `size` floats of each. On the threads of the current ThreadScope.
void add_branch(float* x, const float* branch, std::int64_t size);

}  // namespace vit::backend
