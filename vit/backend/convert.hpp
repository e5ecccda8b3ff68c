// Rows of f32 or bf16 rounded to what a product reads. Internal to vit/backend.
#pragma once

#include <cstdint>

#include "vit/backend/rms_norm.hpp"
#include "vit/values.hpp"

namespace vit::backend {

/// Row `row` of `to`, whose rows have `size` numbers, from x [size].
void convert_row(const float* x, std::int64_t size, Values to, std::int64_t row);

/// All rows: from f32 to anything, from bf16 to u8. On the threads of the current ThreadScope.
void convert_rows(ConstValues from, const Rows& shape, Values to);

}  // namespace vit::backend
