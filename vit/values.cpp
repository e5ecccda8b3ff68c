#include "vit/values.hpp"

namespace vit {
namespace {

/// Room for so many bytes.
Tensor bytes(std::int64_t count) {
  return Tensor({(count + 3) / 4});
}

}  // namespace

ValueBuffer::ValueBuffer(std::int64_t rows, std::int64_t columns, ValueType type)
    : rows_(rows),
      columns_(columns),
      storage_(bytes(rows * columns * size_of(type))),
      scales_(type == ValueType::u8 ? bytes(rows * std::int64_t{sizeof(RowScale)}) : Tensor()),
      values_(storage_.data(), type, reinterpret_cast<RowScale*>(scales_.data())) {}

}  // namespace vit
