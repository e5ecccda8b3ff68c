// Token merging: tokens that attention has found alike go on as one (Bolya et al. 2023, "Token Merging: Your
// ViT But Faster", arXiv:2210.09461, section 3). The tokens of an image are dealt out to two sets by turns,
// beginning with set A. Each token of A has an edge to the one of B whose keys point most nearly the same
// way, and along the r best edges A's tokens join B's, as means weighted by how many patches each of them
// stands for. What is left: prefix tokens in their places, A's others, B. Internal to vit/.
//
// A near tie is decided by the last bit of the keys.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vit/tensor.hpp"
#include "vit/values.hpp"

namespace vit {

/// What is merged in one block.
struct MergeShape {
  std::int64_t batch = 1;      ///< B
  std::int64_t tokens = 0;     ///< T
  std::int64_t prefix = 0;     ///< tokens in front of the patches, which stay as they are
  std::int64_t merged = 0;     ///< r: 1 … (T − prefix) / 2
  std::int64_t heads = 0;      ///< h
  std::int64_t head_size = 0;  ///< d

  std::int64_t width() const { return heads * head_size; }
  std::int64_t left() const { return tokens - merged; }
  /// The first token of A, and of B, that is a patch; each counted within its set.
  std::int64_t first_source() const { return (prefix + 1) / 2; }
  std::int64_t first_target() const { return prefix / 2; }
  /// Tokens of A and B that are patches.
  std::int64_t sources() const { return (tokens + 1) / 2 - first_source(); }
  std::int64_t targets() const { return tokens / 2 - first_target(); }
};

/// An edge: a token of set A, and the one of set B that is most like it, each counted within its set.
struct TokenEdge {
  float similarity = 0;  ///< cosine
  std::int32_t source = 0;
  std::int32_t target = 0;
  float share = 0;  ///< of the source in the mean that it joins, of the edges that are merged along
};

/// The tokens of a batch, and how many patches each of them stands for.
struct TokenStream {
  float* tokens = nullptr;  ///< [B, T, D]
  float* sizes = nullptr;   ///< [B, T]
};

// The steps, of one image each.

/// metric [d] = k / |k| of the mean k of a token's keys [h, d]; zeros where they have no direction.
void take_metric(ConstValues keys, std::int64_t heads, std::span<float> metric);
/// The edge of a token of A: metric [T, d].
TokenEdge best_edge(const MergeShape& shape, const float* metric, std::int64_t source);
/// The r edges to merge along first, the best one foremost; of equal ones that of the first source. The
/// others in the order in which their sources go on: as they stand, or without prefix tokens the best edge
/// first, as the paper's code has it.
void rank_edges(const MergeShape& shape, std::span<TokenEdge> edges);
/// merged [T − r] = what each token that is left stands for; gives the ranked edges their shares.
void merge_sizes(const MergeShape& shape, const float* sizes, std::span<TokenEdge> edges, float* merged);
/// Columns first … first + count of merged [T − r, D] = the tokens [T, D] along ranked edges.
void merge_columns(const MergeShape& shape, std::span<const TokenEdge> edges, const float* tokens,
                   float* merged, std::int64_t first, std::int64_t count);

/// What the steps hand on, for the largest of a Session's blocks.
struct MergeBuffers {
  Tensor metric;                 ///< [B, T, d]
  std::vector<TokenEdge> edges;  ///< [B, tokens of A that are patches]
};

/// All steps for a batch, on the threads of the current ThreadScope. The result is the same for any number.
class TokenMerging {
 public:
  explicit TokenMerging(const MergeShape& shape) : shape_(shape) {}

  const MergeShape& shape() const { return shape_; }
  MergeBuffers buffers() const;

  /// qkv [B, T, 3, h, d] as attention used it; from [B, T, …], to [B, T − r, …]. Allocates nothing.
  void run(ConstValues qkv, const TokenStream& from, const TokenStream& to, MergeBuffers& buffers) const;

 private:
  MergeShape shape_;
};

}  // namespace vit
