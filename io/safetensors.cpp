#include "io/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "io/foreign_format.hpp"
#include "io/json.hpp"

namespace vit::io {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // the reference's limit
constexpr int kMaxDepth = 32;                      // three are needed; unknown keys may hold more
constexpr std::string_view kMetadataKey = "__metadata__";

/// A tensor's entry in the header, before it is compared with the data.
struct Entry {
  std::string name;
  const StoredDType* dtype = nullptr;
  Shape shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Everything that throws, with the file's name and the caller's error code.
class Parser {
 public:
  Parser(std::span<const std::byte> file, std::string_view name, ErrorCode code)
      : file_(file), name_(name), code_(code) {}

  SafetensorsContent parse() const {
    const std::string_view header = read_header();
    const Json root =
        parse_json_object(header, JsonSource(name_, code_),
                          {static_cast<std::size_t>(kMaxHeader), kMaxDepth, DuplicateKeys::reject});
    SafetensorsContent content;
    std::vector<Entry> entries;
    for (const auto& [key, value] : root.items()) {
      if (key == kMetadataKey) {
        content.metadata = read_metadata(value);
      } else {
        entries.push_back(read_entry(key, value));
      }
    }
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    const auto data = file_.subspan(static_cast<std::size_t>(kLengthBytes + header.size()));
    check_layout(entries, data.size());
    for (Entry& entry : entries) {
      content.tensors.push_back({std::move(entry.name), std::string(entry.dtype->name),
                                 entry.dtype->float_dtype, std::move(entry.shape),
                                 data.subspan(static_cast<std::size_t>(entry.begin),
                                              static_cast<std::size_t>(entry.end - entry.begin))});
    }
    return content;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(code_, fmt::format("{}: {}", name_, what));
  }

  /// `what` and that the copy is to blame.
  [[noreturn]] void fail_copy(std::string_view what) const {
    fail(fmt::format("{}; the download or copy went wrong: fetch the file again", what));
  }

  [[noreturn]] void fail_tensor(std::string_view tensor, std::string_view what) const {
    fail(fmt::format("tensor \"{}\": {}", tensor, what));
  }

  std::string_view read_header() const {
    if (file_.empty()) fail_copy("the file is empty (0 bytes), expected a safetensors file");
    const auto not_this_format = [&](std::string_view what) {
      if (const auto other = recognise_foreign_format(as_text(file_))) fail(*other);
      fail_copy(what);
    };
    if (file_.size() < kLengthBytes) {
      not_this_format(
          fmt::format("truncated: expected a header length of 8 bytes, the file has {}", file_.size()));
    }
    std::uint64_t length = 0;
    std::memcpy(&length, file_.data(), sizeof length);  // little-endian, as the machine: see vit/weights.cpp
    if (length > kMaxHeader) {
      not_this_format(fmt::format(
          "not a safetensors file: its first 8 bytes give a header of {} bytes, expected at most {}", length,
          kMaxHeader));
    }
    if (length > file_.size() - kLengthBytes) {
      not_this_format(fmt::format("truncated: the header alone needs {} bytes, the file has {}",
                                  kLengthBytes + length, file_.size()));
    }
    const std::string_view header = as_text(file_).substr(kLengthBytes, static_cast<std::size_t>(length));
    if (!header.starts_with('{'))
      not_this_format("not a safetensors file: the header does not begin with '{'");
    return header;
  }

  std::map<std::string, std::string> read_metadata(const Json& value) const {
    std::map<std::string, std::string> metadata;
    if (value.is_null()) return metadata;
    if (!value.is_object())
      fail(fmt::format("{}: expected an object, found {}", kMetadataKey, describe(value)));
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) {
        fail(fmt::format("{}: \"{}\": expected a string, found {}", kMetadataKey, key, describe(text)));
      }
      metadata.emplace(key, text.get<std::string>());
    }
    return metadata;
  }

  Entry read_entry(const std::string& tensor, const Json& value) const {
    if (!value.is_object()) fail_tensor(tensor, fmt::format("expected an object, found {}", describe(value)));
    const auto member = [&](std::string_view key) -> const Json& {
      const Json* found = find(value, key);
      if (found == nullptr) fail_tensor(tensor, fmt::format("\"{}\" is missing", key));
      return *found;
    };
    Entry entry{tensor, read_dtype(tensor, member("dtype")), {}, 0, 0};
    entry.shape = read_shape(tensor, member("shape"));
    const Json& offsets = member("data_offsets");
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      fail_tensor(tensor, fmt::format("\"data_offsets\": expected two whole numbers [begin, end], found {}",
                                      describe(offsets)));
    }
    entry.begin = offsets[0].get<std::uint64_t>();
    entry.end = offsets[1].get<std::uint64_t>();
    if (entry.end < entry.begin) {
      fail_tensor(tensor, fmt::format("its data ends at byte {}, before it begins at byte {}", entry.end,
                                      entry.begin));
    }
    check_size(entry);
    return entry;
  }

  const StoredDType* read_dtype(std::string_view tensor, const Json& value) const {
    if (!value.is_string())
      fail_tensor(tensor, fmt::format("\"dtype\": expected a string, found {}", describe(value)));
    const auto& name = value.get_ref<const std::string&>();
    const StoredDType* dtype = find_stored_dtype(name);
    if (dtype == nullptr) fail_tensor(tensor, fmt::format("unknown dtype {}", describe(value)));
    return dtype;
  }

  Shape read_shape(std::string_view tensor, const Json& value) const {
    if (!value.is_array())
      fail_tensor(tensor, fmt::format("\"shape\": expected an array, found {}", describe(value)));
    Shape shape;
    for (const Json& dim : value) {
      if (!dim.is_number_unsigned() || dim.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
        fail_tensor(tensor, fmt::format("\"shape\": expected whole numbers from 0 to 2^63-1, found {}",
                                        describe(value)));
      }
      shape.push_back(dim.get<std::int64_t>());
    }
    return shape;
  }

  /// The bytes between the offsets are those that shape and dtype need.
  void check_size(const Entry& entry) const {
    std::uint64_t bits = 1;
    bool overflow = false;
    for (const std::int64_t dim : entry.shape) {
      overflow |= __builtin_mul_overflow(bits, static_cast<std::uint64_t>(dim), &bits);
    }
    overflow |= __builtin_mul_overflow(bits, entry.dtype->bits, &bits);
    const std::string what = fmt::format("{} of shape {}", entry.dtype->name, to_string(entry.shape));
    if (overflow) fail_tensor(entry.name, fmt::format("{}: the size overflows 64 bits", what));
    if (bits % 8 != 0)
      fail_tensor(entry.name, fmt::format("{}: {} bits are no whole number of bytes", what, bits));
    if (bits / 8 != entry.end - entry.begin) {
      fail_tensor(entry.name, fmt::format("{} needs {} bytes, its data_offsets [{}, {}] hold {}", what,
                                          bits / 8, entry.begin, entry.end, entry.end - entry.begin));
    }
  }

  /// Sorted by offset the tensors fill the data exactly: no gap, no overlap, nothing behind the last.
  void check_layout(const std::vector<Entry>& entries, std::uint64_t data_size) const {
    std::uint64_t end = 0;
    const Entry* previous = nullptr;
    for (const Entry& entry : entries) {
      if (entry.begin != end) {
        const std::string before = previous ? fmt::format("tensor \"{}\"", previous->name) : "the header";
        fail_tensor(entry.name, fmt::format("its data begins at byte {}, expected {} ({} {})", entry.begin,
                                            end, entry.begin < end ? "it overlaps" : "a gap behind", before));
      }
      end = entry.end;
      previous = &entry;
    }
    const std::uint64_t before_data = file_.size() - data_size;
    if (end > data_size) {
      fail_copy(
          fmt::format("truncated: expected {} bytes, the file has {}", before_data + end, file_.size()));
    }
    if (end < data_size) {
      fail_copy(fmt::format("{} bytes too many: expected {} bytes, the file has {}", data_size - end,
                            before_data + end, file_.size()));
    }
  }

  std::span<const std::byte> file_;
  std::string_view name_;
  ErrorCode code_;
};

}  // namespace

SafetensorsContent parse_safetensors(std::span<const std::byte> file, std::string_view name, ErrorCode code) {
  return Parser(file, name, code).parse();
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path, ErrorCode code, FileErrors errors)
    : file_(path, errors), code_(code), content_(parse_safetensors(file_.bytes(), path.string(), code)) {
  for (const StoredTensor& tensor : content_.tensors) by_name_.emplace(tensor.name, &tensor);
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : at->second;
}

Tensor SafetensorsFile::read(std::string_view name) const {
  const StoredTensor* stored = find(name);
  if (stored == nullptr) {
    constexpr std::size_t kShown = 8;
    std::vector<std::string_view> names;
    for (const StoredTensor& tensor : tensors()) {
      if (names.size() == kShown) break;
      names.push_back(tensor.name);
    }
    throw Error(code_, fmt::format("{}: no tensor \"{}\" in it, found {}{}", path().string(), name,
                                   names.empty() ? "none at all" : fmt::format("{}", fmt::join(names, ", ")),
                                   tensors().size() > kShown ? ", …" : ""));
  }
  if (!stored->float_dtype) {
    throw Error(code_, fmt::format("{}: tensor \"{}\": expected dtype F32, F16 or BF16, found {}",
                                   path().string(), name, stored->dtype));
  }
  const WeightView view{stored->shape,
                        {{stored->data.data(), *stored->float_dtype, element_count(stored->shape)}}};
  return view.to_tensor();
}

}  // namespace vit::io
