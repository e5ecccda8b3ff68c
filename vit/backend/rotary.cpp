#include "vit/backend/rotary.hpp"

namespace vit::backend {
namespace {

/// Number i of a pair lies at x[i * step], its partner `apart` floats behind it.
void rotate(float* x, const float* cosines, const float* sines, std::int64_t pairs, RotaryLayout layout) {
  const std::int64_t step = layout == RotaryLayout::halves ? 1 : 2;
  const std::int64_t apart = layout == RotaryLayout::halves ? pairs : 1;
  for (std::int64_t i = 0; i < pairs; ++i) {
    float* const pair = x + i * step;
    const float a = pair[0];
    const float b = pair[apart];
    pair[0] = a * cosines[i] - b * sines[i];
    pair[apart] = b * cosines[i] + a * sines[i];
  }
}

}  // namespace

void rotate_heads(float* x, const RotaryShape& shape, const RotaryTable& table, RotaryLayout layout) {
  const std::int64_t turned = shape.tokens - shape.prefix;
  const std::int64_t pairs = shape.head_size / 2;
  const std::int64_t head_stride = table.head_stride();
#pragma omp parallel for
  for (std::int64_t row = 0; row < shape.batch * turned; ++row) {
    const std::int64_t patch = row % turned;
    float* const token = x + (row / turned * shape.tokens + shape.prefix + patch) * shape.token_stride;
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const std::int64_t at = head * head_stride + patch * pairs;
      rotate(token + head * shape.head_size, table.cosines.data() + at, table.sines.data() + at, pairs,
             layout);
    }
  }
}

}  // namespace vit::backend
