#include "io/npz_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include "io/model_metadata.hpp"
#include "io/owned_bytes.hpp"
#include "io/quote_name.hpp"
#include "vit/error.hpp"
#include "vit/file.hpp"

namespace vit::io {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kEnding = ".npy";
constexpr std::string_view kMagic = "\x93NUMPY"sv;

[[noreturn]] void fail(std::string_view what) {
  throw std::runtime_error(std::string(what));
}

/// The little Python that a header is written in.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  StridedTensor read() {
    std::optional<ElementType> type;
    std::optional<bool> fortran_order;
    std::optional<Shape> shape;
    expect("{");
    while (!accept("}")) {
      const std::string_view key = quoted_text();
      expect(":");
      if (key == "descr" && !type) {
        type = element(quoted_text());
      } else if (key == "fortran_order" && !fortran_order) {
        fortran_order = accept("True");
        if (!*fortran_order) expect("False");
      } else if (key == "shape" && !shape) {
        shape = tuple();
      } else {
        fail(fmt::format("its header has the key {}, expected descr, fortran_order and shape, once each",
                         quote_name(key)));
      }
      if (!accept(",")) {
        expect("}");
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) fail("something follows the header's dict");
    if (!type || !fortran_order || !shape) fail("its header needs descr, fortran_order and shape");
    return arrange(*type, std::move(*shape), *fortran_order);
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  bool accept(std::string_view word) {
    skip_space();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  void expect(std::string_view word) {
    if (!accept(word)) fail(fmt::format("its header: expected {} at byte {}", quote_name(word), at_));
  }

  std::string_view quoted_text() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote == '[') fail("its elements are records, expected numbers");
    if (quote != '\'' && quote != '"') fail(fmt::format("its header: expected a text at byte {}", at_));
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("its header: a text does not end");
    const std::string_view found = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return found;
  }

  Shape tuple() {
    Shape shape;
    expect("(");
    while (!accept(")")) {
      skip_space();
      std::int64_t size = -1;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) fail("its shape is not of whole numbers");
      at_ = static_cast<std::size_t>(end - text_.data());
      accept("L");  // Python 2
      shape.push_back(size);
      if (!accept(",")) {
        expect(")");
        break;
      }
    }
    return shape;
  }

  /// "<f4": byte order, kind, bytes.
  static ElementType element(std::string_view descr) {
    struct Row {
      std::string_view descr;
      std::string_view name;
    };
    constexpr std::array<Row, 14> kTypes{{{"<f4", "F32"},
                                          {"<f2", "F16"},
                                          {"<f8", "F64"},
                                          {"<i8", "I64"},
                                          {"<i4", "I32"},
                                          {"<i2", "I16"},
                                          {"|i1", "I8"},
                                          {"<u8", "U64"},
                                          {"<u4", "U32"},
                                          {"<u2", "U16"},
                                          {"|u1", "U8"},
                                          {"|b1", "BOOL"},
                                          {"<c8", "C64"},
                                          {"<c16", "C128"}}};
    for (const Row& row : kTypes) {
      if (row.descr == descr) return element_type(row.name);
    }
    if (descr.starts_with("|O")) fail("it holds Python objects, expected numbers");
    if (descr.starts_with('>')) fail("it is big-endian, which Vitrine does not read");
    return other_element(descr);
  }

  /// Texts, dates and raw bytes: listed, of no use as weights.
  static ElementType other_element(std::string_view descr) {
    constexpr std::size_t kMaxSize = std::size_t{1} << 24;
    std::size_t size = 0;
    const bool known = descr.size() > 2 && (descr[0] == '<' || descr[0] == '|') &&
                       "USVmM"sv.find(descr[1]) != std::string_view::npos;
    const char* end = descr.data() + descr.size();
    if (!known || std::from_chars(descr.data() + 2, end, size).ec != std::errc() || size == 0 ||
        size > kMaxSize) {
      fail(fmt::format("its elements are of type {}, which Vitrine does not know", quote_name(descr)));
    }
    return {std::string(descr), descr[1] == 'U' ? 4 * size : size};
  }

  static StridedTensor arrange(ElementType type, Shape shape, bool fortran_order) {
    StridedTensor array;
    array.type = std::move(type);
    if (fortran_order) std::reverse(shape.begin(), shape.end());
    auto strides = row_major_strides(shape);
    if (!strides) fail(fmt::format("its shape {} overflows 64 bits", vit::to_string(shape)));
    if (fortran_order) {
      std::reverse(shape.begin(), shape.end());
      std::reverse(strides->begin(), strides->end());
    }
    array.shape = std::move(shape);
    array.strides = std::move(*strides);
    return array;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

StridedTensor parse_npy(std::span<const std::byte> file) {
  const std::string_view text = as_text(file);
  if (!text.starts_with(kMagic)) fail("it is no NumPy array: it does not begin with \\x93NUMPY");
  std::size_t at = kMagic.size() + 2;
  if (text.size() < at) fail("truncated: its header is not complete");
  const int version = static_cast<unsigned char>(text[kMagic.size()]);
  if (version < 1 || version > 3) fail(fmt::format("version {}, expected 1, 2 or 3", version));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::uint32_t length = 0;
  if (text.size() - at < length_bytes) fail("truncated: its header is not complete");
  std::memcpy(&length, text.data() + at, length_bytes);
  at += length_bytes;
  if (text.size() - at < length) fail("truncated: its header is not complete");
  StridedTensor array = HeaderReader(text.substr(at, length)).read();
  array.storage = file.subspan(at + length);

  std::uint64_t bytes = array.type.size;
  bool overflow = false;
  for (const std::int64_t size : array.shape)
    overflow |= __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes);
  if (overflow || bytes != array.storage.size()) {
    fail(fmt::format("{} of shape {} {}, and {} are there", array.type.name, vit::to_string(array.shape),
                     overflow ? "overflows 64 bits" : fmt::format("needs {} bytes", bytes),
                     array.storage.size()));
  }
  return array;
}

bool is_npz(const ZipArchive& archive) {
  return !archive.entries().empty() &&
         std::all_of(archive.entries().begin(), archive.entries().end(),
                     [](const auto& entry) { return entry.first.ends_with(kEnding); });
}

TensorFileContent read_npz(const ZipArchive& archive) {
  OwnedBytes memory(archive.file().size(), archive.name());
  TensorFileContent content;
  for (const auto& [entry, at] : archive.entries()) {
    StridedTensor array;
    try {
      array = parse_npy(archive.read(entry, memory));
    } catch (const Error&) {
      throw;
    } catch (const std::runtime_error& error) {
      archive.fail(entry, error.what());
    }
    array.name = entry.substr(0, entry.size() - kEnding.size());
    if (!is_utf8(array.name)) archive.fail(entry, "its name is not UTF-8");
    content.tensors.push_back(to_stored(array, archive.name(), memory));
  }
  content.owned = memory.take();
  return content;
}

}  // namespace vit::io
