// The layers of a Vision Transformer as their formulas say them: plain loops, double precision, no library.
// Slow on purpose. Shapes in the letters of vit/tensor.hpp.
#pragma once

#include "tests/reference/array.hpp"
#include "vit/config.hpp"

namespace vit::reference {

/// All that there are.
std::vector<Activation> every_activation();

double activate(Activation activation, double x);
Array activate(Activation activation, Array x);

/// y = x Wᵀ + b over the last axis. x [..., in], weight [out, in], bias [out] or empty.
Array linear(const Array& x, const Array& weight, const Array& bias);

/// γ (x − mean) / √(var + ε) + β over the last axis, var divided by D.
Array layer_norm(const Array& x, const Array& gamma, const Array& beta, double epsilon);

/// γ x / √(mean(x²) + ε) over the last axis.
Array rms_norm(const Array& x, const Array& gamma, double epsilon);

/// a + b of the same shape.
Array add(Array a, const Array& b);

/// x with its last axis multiplied by scale.
Array scale_channels(Array x, const Array& scale);

/// pixel_values [B, C, H, W], weight [D, C, P, P], bias [D] or empty -> [B, N, D], patches in reading order;
/// pixels that do not fill a patch at the right and at the bottom are not looked at.
Array patch_embed(const Array& pixel_values, const Array& weight, const Array& bias);

struct AttentionResult {
  Array probs;    ///< [B, h, T, T]: softmax(q kᵀ / √d)
  Array context;  ///< [B, T, D]: heads side by side
};

/// What is added to the scores.
struct ScoreTerms {
  Array bias = {};   ///< [h, T, T], or empty
  Array sizes = {};  ///< [B, T] or empty: their logarithms are added to the scores of each key
};

/// q, k, v [B, T, D], head n in columns n d … (n + 1) d.
AttentionResult attention(const Array& q, const Array& k, const Array& v, std::int64_t heads,
                          const ScoreTerms& terms = {});

/// Columns from … from + count of the last axis.
Array columns(const Array& x, std::int64_t from, std::int64_t count);

}  // namespace vit::reference
