// context = softmax(q kᵀ + bias) v for every head, read in place from the qkv buffer
// (Vaswani et al. 2017, arXiv:1706.03762, equation 1; 1/√d is folded into the weights of q). Differential
// attention takes softmax(q₁ k₁ᵀ) − λ softmax(q₂ k₂ᵀ) of the halves of q and k instead (Ye et al. 2024,
// arXiv:2410.05258, equation 1).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vit/backend/context.hpp"
#include "vit/backend/relative_bias.hpp"

namespace vit::backend {

struct AttentionShape {
  std::int64_t tokens = 0;     ///< T
  std::int64_t heads = 0;      ///< h
  std::int64_t head_size = 0;  ///< d
  std::int64_t maps = 1;       ///< of each head; 2: differential
};

/// What takes part in the weights of the values beside q and k.
struct AttentionTerms {
  const RelativeBias* bias = nullptr;  ///< added to the scores; not with differential attention
  float lambda = 0;                    ///< λ of differential attention
};

/// One image at a time, in tiles of queries, so that the scores stay in cache and memory grows with T, not
/// T².
class Attention {
 public:
  /// With `whole_maps` there is one tile, so that run() leaves the complete [h, T, T] weights of the values
  /// at the front of `scores`.
  Attention(Context& context, const AttentionShape& shape, bool whole_maps);
  ~Attention();
  Attention(Attention&&) noexcept;

  /// Floats of the `scores` buffer that run() works in.
  std::int64_t scores_size() const;

  /// qkv [T, 3, h, d], context [T, h, d], both dense.
  void run(const float* qkv, float* scores, float* context, const AttentionTerms& terms = {});

  /// Kernels in the order that they run.
  std::vector<std::string> kernels() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// context = softmax(q kᵀ) v for one query that is the same in every image (attention pooling).
class LatentAttention {
 public:
  LatentAttention(Context& context, const AttentionShape& shape);
  ~LatentAttention();
  LatentAttention(LatentAttention&&) noexcept;

  /// One image: q [h, d], kv [T, 2, h, d], scores [h, T], context [h, d], all dense.
  void run(const float* q, const float* kv, float* scores, float* context);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vit::backend
