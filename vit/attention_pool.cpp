#include "vit/attention_pool.hpp"

namespace vit {

AttentionPool::AttentionPool(backend::Context& context, const ModelConfig& config,
                             const PackedAttentionPool& like, std::int64_t batch, std::int64_t tokens)
    : prefix_(config.num_unpooled_tokens()),
      kv_(context, batch * tokens, like.kv),
      attention_({batch, tokens - prefix_, config.pool_heads(), config.hidden_size / config.pool_heads()},
                 prefix_),
      proj_(context, batch, like.proj),
      norm_(context, {batch, config.hidden_size}, backend::NormFormula(config)),
      fc1_(context, batch, like.fc1, {.activation = config.activation}),
      fc2_(context, batch, like.fc2, {.activation = {}, .accumulate = true}) {}

void AttentionPool::forward(const float* states, const PackedAttentionPool& weights, Workspace& workspace) {
  float* const kv = workspace.pool_kv.data();            // [B, T, 2, h, d]
  float* const context = workspace.pool_context.data();  // [B, h, d]
  float* const normed = workspace.pool_context.data();   // [B, D], when context has been read
  float* const mlp = workspace.pool_mlp.data();          // [B, pool MLP size]
  float* const pooled = workspace.pooled.data();         // [B, D]

  kv_.run(states, weights.kv, kv);  // kv = states Wkvᵀ + b
  attention_.run(weights.q.data(), kv, context,
                 workspace.sizes());         // context = softmax(q kᵀ / √d + ln sizes) v over the tokens
  proj_.run(context, weights.proj, pooled);  // pooled = context Wprojᵀ + b
  norm_.run(pooled, weights.norm, normed);   // normed = Norm(pooled)
  fc1_.run(normed, weights.fc1, mlp);        // mlp = act(normed W1ᵀ + b1)
  fc2_.run(mlp, weights.fc2, pooled);        // pooled = pooled + mlp W2ᵀ + b2
}

std::vector<std::string> AttentionPool::kernels() const {
  return {"attn_pool.kv  " + kv_.kernel(), "attn_pool.proj  " + proj_.kernel(),
          "attn_pool.norm  " + norm_.kernel(), "attn_pool.mlp.fc1  " + fc1_.kernel(),
          "attn_pool.mlp.fc2  " + fc2_.kernel()};
}

}  // namespace vit
