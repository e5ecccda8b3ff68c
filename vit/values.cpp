#include "vit/values.hpp"

namespace vit {
namespace {

template <class T>
T* take(LargeMemoryPool& memory, std::int64_t bytes) {
  return static_cast<T*>(static_cast<void*>(memory.take(static_cast<std::size_t>(bytes))));
}

}  // namespace

ValueBuffer::ValueBuffer(std::int64_t rows, std::int64_t columns, ValueType type, LargeMemoryPool& memory)
    : rows_(rows),
      columns_(columns),
      values_(
          take<void>(memory, rows * columns * size_of(type)), type,
          type == ValueType::u8 ? take<RowScale>(memory, rows * std::int64_t{sizeof(RowScale)}) : nullptr) {}

}  // namespace vit
