// Token merging (Bolya et al. 2023, arXiv:2210.09461) as section 3 of the paper says it, in double precision.
#pragma once

#include "tests/reference/array.hpp"

namespace vit::reference {

struct MergeRule {
  std::int64_t heads;
  std::int64_t prefix;  ///< tokens that stay as they are
  std::int64_t tokens;  ///< r, at most half of the others
};

struct MergedTokens {
  Array x;      ///< [B, T − r, D]
  Array sizes;  ///< [B, T − r]
};

/// x [B, T, D], sizes [B, T]: how many patches each token stands for, keys [B, T, D]: heads side by side.
MergedTokens merge_tokens(const Array& x, const Array& sizes, const Array& keys, const MergeRule& rule);

}  // namespace vit::reference
