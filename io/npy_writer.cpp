#include "io/npy_writer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <string_view>

#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr std::size_t kAlignment = 64;

static_assert(std::endian::native == std::endian::little, "values are written as they lie in memory");

/// A Python tuple: (), (3,), (3, 4).
std::string tuple(const Shape& shape) {
  return shape.size() == 1 ? fmt::format("({},)", shape.front())
                           : fmt::format("({})", fmt::join(shape, ", "));
}

/// Magic, version, length, the dictionary as a Python literal, and spaces up to the alignment, or to more
/// bytes.
std::string header(const Shape& shape, std::size_t least_bytes = 0) {
  constexpr std::string_view kMagic{"\x93NUMPY\x01\x00", 8};
  std::string text = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}", tuple(shape));
  const std::size_t unpadded = kMagic.size() + 2 + text.size() + 1;
  const std::size_t bytes = (unpadded + kAlignment - 1) / kAlignment * kAlignment;
  text.append(std::max(least_bytes, bytes) - unpadded, ' ');
  text += '\n';
  const auto length = static_cast<std::uint16_t>(text.size());
  return std::string(kMagic) + static_cast<char>(length & 0xFF) + static_cast<char>(length >> 8) + text;
}

Shape with_rows(std::int64_t rows, const Shape& row_shape) {
  Shape shape{rows};
  shape.insert(shape.end(), row_shape.begin(), row_shape.end());
  return shape;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

NpyWriter::NpyWriter(const std::filesystem::path& target, Shape row_shape)
    : file_(target), row_shape_(std::move(row_shape)), row_size_(element_count(row_shape_)) {
  if (row_size_ < 1) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: a row of {} has no values", target.string(), to_string(row_shape_)));
  }
  // As long as the header can get: how many rows there are is known in the end.
  header_bytes_ = header(with_rows(std::numeric_limits<std::int64_t>::max(), row_shape_)).size();
  file_.append(bytes_of(std::string(header_bytes_, ' ')));
}

void NpyWriter::write(std::span<const float> values) {
  file_.append(std::as_bytes(values));
  written_ += std::ssize(values);
}

void NpyWriter::finish() {
  if (written_ % row_size_ != 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: {} values are no whole number of rows of {}", file_.target().string(),
                            written_, to_string(row_shape_)));
  }
  file_.write_at(0, bytes_of(header(with_rows(written_ / row_size_, row_shape_), header_bytes_)));
  file_.commit();
}

void write_npy(const std::filesystem::path& target, const ConstTensorView& array) {
  AtomicFile file(target);
  file.append(bytes_of(header(array.shape)));
  file.append(std::as_bytes(std::span(array.data, static_cast<std::size_t>(array.size()))));
  file.commit();
}

}  // namespace vit::io
