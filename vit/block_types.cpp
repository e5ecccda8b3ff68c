#include "vit/block_types.hpp"

#include "vit/backend/precision_support.hpp"

namespace vit {

BlockTypes::BlockTypes(const ModelConfig& config, Precision precision) {
  if (precision == Precision::fp32) return;
  const bool int8 = precision == Precision::int8;
  const ValueType rounded = int8 ? ValueType::u8 : ValueType::bf16;
  // Attention's operands have no scales: 8 bits are too few for them.
  if (backend::has_precision(Precision::bf16)) products = ValueType::bf16;
  if (config.block != BlockForm::post_norm) normed = rounded;
  if (!config.qk_norm && config.rotary == RotaryEmbedding::none) qkv = products;
  if (!config.attn_norm && config.attention != AttentionForm::differential) context = products;
  if (!int8) gate = ValueType::bf16;
  if (!config.mlp_norm && (int8 || backend::is_fused(config.activation))) mlp = rounded;
  if (mlp == ValueType::f32) gate = ValueType::f32;
}

}  // namespace vit
