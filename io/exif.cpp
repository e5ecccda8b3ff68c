#include "io/exif.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "io/byte_order.hpp"

namespace vit::io {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint16_t orientation_tag = 274;
constexpr std::size_t entry_size = 12;

/// A TIFF structure in memory; every read says whether it lies inside.
class TiffReader {
 public:
  TiffReader(Bytes bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  bool inside(std::size_t offset, std::size_t size) const {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }

  std::optional<std::uint16_t> u16(std::size_t offset) const {
    if (!inside(offset, 2)) return std::nullopt;
    const std::uint8_t* at = bytes_.data() + offset;
    return big_endian_ ? internal::load_be16(at) : internal::load_le16(at);
  }

  std::optional<std::uint32_t> u32(std::size_t offset) const {
    if (!inside(offset, 4)) return std::nullopt;
    const std::uint8_t* at = bytes_.data() + offset;
    return big_endian_ ? internal::load_be32(at) : internal::load_le32(at);
  }

 private:
  Bytes bytes_;
  bool big_endian_;
};

/// Bytes of one value of a TIFF field type; 0 for types that do not exist.
std::size_t type_size(std::uint16_t type) {
  constexpr std::array<std::uint8_t, 14> sizes{0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4};
  return type < sizes.size() ? sizes[type] : 0;
}

int valid_or_upright(std::uint32_t value) {
  return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
}

/// The first value of the entry at `entry`, or nothing where Pillow would skip the entry.
std::optional<int> entry_orientation(const TiffReader& tiff, std::size_t entry) {
  const std::uint16_t type = tiff.u16(entry + 2).value_or(0);
  const std::uint32_t count = tiff.u32(entry + 4).value_or(0);
  if (count == 0 || type_size(type) == 0) return std::nullopt;

  std::size_t value = entry + 8;
  if (count > 4 / type_size(type)) {  // does not fit into the entry: lies elsewhere
    const auto offset = tiff.u32(value);
    if (!offset || !tiff.inside(*offset, count * type_size(type))) return std::nullopt;
    value = *offset;
  }
  constexpr std::uint16_t type_short = 3, type_long = 4, type_signed_short = 8, type_signed_long = 9;
  if (type == type_short || type == type_signed_short) {
    const auto number = tiff.u16(value);
    return number ? std::optional(valid_or_upright(*number)) : std::nullopt;
  }
  if (type == type_long || type == type_signed_long) {
    const auto number = tiff.u32(value);
    return number ? std::optional(valid_or_upright(*number)) : std::nullopt;
  }
  return 1;  // present, but no integer: Pillow does not rotate
}

}  // namespace

std::optional<int> exif_orientation(Bytes block) {
  constexpr std::array<std::uint8_t, 6> prefix{'E', 'x', 'i', 'f', 0, 0};
  for (int twice = 0; twice < 2; ++twice) {  // some WebP writers store the prefix twice
    if (block.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), block.begin()))
      block = block.subspan(prefix.size());
  }
  if (block.size() < 8) return std::nullopt;
  const bool little = block[0] == 'I' && block[1] == 'I';
  const bool big = block[0] == 'M' && block[1] == 'M';
  const bool magic = (block[2] == 42 && block[3] == 0) || (block[2] == 0 && block[3] == 42);
  if (!(little || big) || !magic) return std::nullopt;

  const TiffReader tiff(block, big);
  const std::size_t directory = tiff.u32(4).value_or(0);
  const std::size_t count = tiff.u16(directory).value_or(0);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t entry = directory + 2 + i * entry_size;
    const auto tag = tiff.u16(entry);
    if (!tag || !tiff.u32(entry + 8)) break;  // the directory is cut off
    if (*tag != orientation_tag) continue;
    if (const auto orientation = entry_orientation(tiff, entry)) return orientation;
  }
  return std::nullopt;
}

std::optional<int> xmp_orientation(std::string_view packet) {
  constexpr std::string_view key = "tiff:Orientation";
  for (std::size_t at = packet.find(key); at != packet.npos; at = packet.find(key, at + 1)) {
    std::string_view value = packet.substr(at + key.size());
    if (value.starts_with("=\"")) {
      value.remove_prefix(2);
    } else if (value.starts_with(">")) {
      value.remove_prefix(1);
    } else {
      continue;
    }
    if (!value.empty() && value[0] >= '0' && value[0] <= '9')
      return valid_or_upright(static_cast<std::uint32_t>(value[0] - '0'));
  }
  return std::nullopt;
}

int orientation_of(Bytes exif, std::string_view xmp) {
  if (const auto orientation = exif_orientation(exif)) return *orientation;
  return xmp_orientation(xmp).value_or(1);
}

}  // namespace vit::io
