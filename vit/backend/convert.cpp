#include "vit/backend/convert.hpp"

#include <algorithm>

#include "vit/backend/row_kernels.hpp"
#include "vit/error.hpp"

namespace vit::backend {

void convert_row(const float* x, std::int64_t size, Values to, std::int64_t row) {
  const RowKernels& kernels = row_kernels();
  switch (to.type) {
    case ValueType::f32:
      std::copy_n(x, size, static_cast<float*>(to.data) + row * size);
      return;
    case ValueType::bf16:
      kernels.scale_bf16(x, size, 1, static_cast<bf16_t*>(to.data) + row * size);
      return;
    case ValueType::u8:
      to.scales[row] = kernels.quantise(x, size, static_cast<std::uint8_t*>(to.data) + row * size);
      return;
  }
}

void convert_rows(ConstValues from, const Rows& shape, Values to) {
  if (from.type == ValueType::f32) {
    const auto* const x = static_cast<const float*>(from.data);
#pragma omp parallel for
    for (std::int64_t row = 0; row < shape.rows; ++row)
      convert_row(x + row * shape.size, shape.size, to, row);
    return;
  }
  if (from.type != ValueType::bf16 || to.type != ValueType::u8)
    throw Error(ErrorCode::internal, "no conversion between these types of values");
  const auto* const x = static_cast<const bf16_t*>(from.data);
  auto* const q = static_cast<std::uint8_t*>(to.data);
#pragma omp parallel for
  for (std::int64_t row = 0; row < shape.rows; ++row)
    to.scales[row] = row_kernels().quantise_bf16(x + row * shape.size, shape.size, q + row * shape.size);
}

}  // namespace vit::backend
