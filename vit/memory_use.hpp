// How much memory a network takes, before it is built.
#pragma once

#include <cstdint>

#include "vit/config.hpp"
#include "vit/precision.hpp"

namespace vit {

/// Bytes.
struct MemoryUse {
  std::int64_t weights = 0;    ///< of a Model: packed, shared by all of its Sessions
  std::int64_t workspace = 0;  ///< of each Session: what the stages of a forward pass hand on. Not in it: the
                               ///< tiles of attention and the code that oneDNN generates, a few MB
};

/// Of a network that runs in `precision` on this processor, on `batch` images of that size; {0, 0}: the
/// model's own.
MemoryUse memory_use(const ModelConfig& config, Precision precision, Size2 image = {},
                     std::int64_t batch = 1);

}  // namespace vit
