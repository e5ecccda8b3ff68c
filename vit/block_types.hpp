// In what numbers the stages of an encoder block hand on their results. Internal to vit/.
#pragma once

#include "vit/config.hpp"
#include "vit/precision.hpp"
#include "vit/values.hpp"

namespace vit {

/// f32 wherever something other than a product works on the numbers; else what the next product reads.
struct BlockTypes {
  BlockTypes(const ModelConfig& config, Precision precision);

  ValueType normed = ValueType::f32;  ///< a norm's result, or a branch's where a norm ends it
  ValueType qkv = ValueType::f32;
  ValueType products = ValueType::f32;  ///< of attention
  ValueType context = ValueType::f32;
  ValueType gate = ValueType::f32;
  ValueType mlp = ValueType::f32;
};

}  // namespace vit
