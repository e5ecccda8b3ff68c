#include "io/strided_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "io/quote_name.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

[[noreturn]] void fail(const StridedTensor& tensor, std::string_view file_name, std::string_view what) {
  throw Error(ErrorCode::weights_invalid,
              fmt::format("{}: tensor {}: {}", file_name, quote_name(tensor.name), what));
}

/// Elements, and that all of them lie within the storage.
std::int64_t check(const StridedTensor& t, std::string_view file_name) {
  constexpr std::size_t kMaxAxes = 64;  // torch's limit; NumPy's is the same since 2.0
  if (t.shape.size() > kMaxAxes || t.shape.size() != t.strides.size())
    fail(t, file_name, fmt::format("{} axes with {} strides", t.shape.size(), t.strides.size()));
  const auto negative = [](std::int64_t value) { return value < 0; };
  if (negative(t.offset) || std::any_of(t.shape.begin(), t.shape.end(), negative) ||
      std::any_of(t.strides.begin(), t.strides.end(), negative)) {
    fail(t, file_name,
         fmt::format("a negative size, stride or offset: shape {}, strides {}, offset {}", to_string(t.shape),
                     to_string(t.strides), t.offset));
  }
  if (std::find(t.shape.begin(), t.shape.end(), 0) != t.shape.end()) return 0;
  std::int64_t count = 1;
  std::int64_t last = t.offset;
  bool overflow = false;
  for (std::size_t axis = 0; axis < t.shape.size(); ++axis) {
    std::int64_t reach = 0;
    overflow |= __builtin_mul_overflow(count, t.shape[axis], &count);
    overflow |= __builtin_mul_overflow(t.shape[axis] - 1, t.strides[axis], &reach);
    overflow |= __builtin_add_overflow(last, reach, &last);
  }
  const auto stored = static_cast<std::int64_t>(t.storage.size() / t.type.size);
  if (overflow || last >= stored) {
    fail(t, file_name,
         fmt::format("it reaches beyond its storage of {} elements: shape {}, strides {}, offset {}", stored,
                     to_string(t.shape), to_string(t.strides), t.offset));
  }
  return count;
}

bool is_row_major(const StridedTensor& t) {
  const auto wanted = row_major_strides(t.shape);
  if (!wanted) return false;
  for (std::size_t axis = 0; axis < t.shape.size(); ++axis) {
    if (t.shape[axis] > 1 && t.strides[axis] != (*wanted)[axis]) return false;
  }
  return true;
}

/// visit(pointer to the element), in row-major order. There is at least one element.
template <class Visit>
void for_each_element(const StridedTensor& t, Visit visit) {
  const std::size_t axes = t.shape.size();
  const std::int64_t inner = axes == 0 ? 1 : t.shape.back();
  const std::int64_t step = axes == 0 ? 0 : t.strides.back();
  Shape at(axes, 0);
  std::int64_t row = t.offset;
  for (;;) {
    for (std::int64_t i = 0; i < inner; ++i)
      visit(t.storage.data() + static_cast<std::size_t>(row + i * step) * t.type.size);
    std::size_t axis = axes < 2 ? 0 : axes - 1;
    for (; axis > 0; --axis) {  // the next row: as an odometer counts
      row += t.strides[axis - 1];
      if (++at[axis - 1] < t.shape[axis - 1]) break;
      row -= t.shape[axis - 1] * t.strides[axis - 1];
      at[axis - 1] = 0;
    }
    if (axis == 0) return;
  }
}

}  // namespace

ElementType element_type(std::string_view name) {
  const StoredDType* dtype = find_stored_dtype(name);
  if (dtype == nullptr || dtype->bits % 8 != 0)  // no format but safetensors has parts of bytes
    throw Error(ErrorCode::internal, fmt::format("no element type {}", name));
  return {std::string(name), static_cast<std::size_t>(dtype->bits / 8), dtype->float_dtype, name == "F64"};
}

std::optional<Shape> row_major_strides(const Shape& shape) {
  Shape strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    if (__builtin_mul_overflow(stride, std::max<std::int64_t>(shape[axis], 1), &stride)) return std::nullopt;
  }
  return strides;
}

StoredTensor to_stored(const StridedTensor& tensor, std::string_view file_name, OwnedBytes& memory) {
  const auto count = static_cast<std::uint64_t>(check(tensor, file_name));
  const std::size_t size = tensor.type.size;
  StoredTensor stored{tensor.name, tensor.type.name, tensor.type.float_dtype, tensor.shape, {}};
  if (tensor.type.is_f64) stored.float_dtype = DType::f32;
  if (count == 0) return stored;
  const std::string what = fmt::format("tensor {}", quote_name(tensor.name));
  if (tensor.type.is_f64) {
    if (count > std::uint64_t(-1) / sizeof(float)) fail(tensor, file_name, "its size overflows 64 bits");
    const std::span<std::byte> to = memory.allocate(count * sizeof(float), what);
    std::byte* next = to.data();
    for_each_element(tensor, [&](const std::byte* element) {
      double wide = 0;
      std::memcpy(&wide, element, sizeof wide);
      const auto narrow = static_cast<float>(wide);
      std::memcpy(next, &narrow, sizeof narrow);
      next += sizeof narrow;
    });
    stored.data = to;
  } else if (is_row_major(tensor)) {
    stored.data = tensor.storage.subspan(static_cast<std::size_t>(tensor.offset) * size,
                                         static_cast<std::size_t>(count) * size);
  } else {
    if (count > std::uint64_t(-1) / size) fail(tensor, file_name, "its size overflows 64 bits");
    const std::span<std::byte> to = memory.allocate(count * size, what);
    std::byte* next = to.data();
    for_each_element(tensor, [&](const std::byte* element) {
      std::memcpy(next, element, size);
      next += size;
    });
    stored.data = to;
  }
  return stored;
}

}  // namespace vit::io
