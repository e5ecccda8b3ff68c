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
#include "vit/values.hpp"

namespace vit::backend {

struct AttentionShape {
  std::int64_t batch = 1;      ///< B
  std::int64_t tokens = 0;     ///< T
  std::int64_t heads = 0;      ///< h
  std::int64_t head_size = 0;  ///< d
  std::int64_t maps = 1;       ///< of each head; 2: differential
};

/// In what numbers: f32 or bf16. Scores and softmax are f32 in both.
struct AttentionTypes {
  ValueType qkv = ValueType::f32;
  ValueType products = ValueType::f32;  ///< what q, k, v and the probabilities are rounded to
  ValueType context = ValueType::f32;
};

/// What takes part in the weights of the values beside q and k.
struct AttentionTerms {
  const RelativeBias* bias = nullptr;  ///< added to the scores; not with differential attention
  float lambda = 0;                    ///< λ of differential attention
  /// [B, T]: how many equal keys, and values, each of them stands for; null: one. Neither with differential
  /// attention nor with maps.
  const float* sizes = nullptr;
};

/// Heads of images, and tiles of their queries where there are more threads or many tokens, are shared out to
/// threads. Each takes its head out of the qkv buffer, packed for the products, and keeps the scores of a
/// tile in its own cache: memory grows with T, not T².
class Attention {
 public:
  Attention(const AttentionShape& shape, const AttentionTypes& types = {});
  ~Attention();
  Attention(Attention&&) noexcept;

  /// qkv [B, T, 3, h, d], context [B, T, h, d], both dense. `maps`, if not null, are filled with the weights
  /// of the values [B, h, T, T].
  void run(ConstValues qkv, float* maps, Values context, const AttentionTerms& terms = {});

  /// Kernels in the order that they run.
  std::vector<std::string> kernels() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// context = softmax(q kᵀ) v for one query that is the same in every image (attention pooling).
class LatentAttention {
 public:
  /// shape.tokens: those that the query looks at, behind the first `prefix` of every image.
  LatentAttention(const AttentionShape& shape, std::int64_t prefix);
  ~LatentAttention();
  LatentAttention(LatentAttention&&) noexcept;

  /// q [h, d], kv [B, prefix + T, 2, h, d], context [B, h, d], all dense. `sizes` [B, prefix + T] as in
  /// AttentionTerms.
  void run(const float* q, const float* kv, float* context, const float* sizes = nullptr);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vit::backend
