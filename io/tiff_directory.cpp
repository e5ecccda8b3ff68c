#include "io/tiff_directory.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "io/byte_order.hpp"

namespace vit::io::internal {
namespace {

/// Numbers at offsets that may lie outside; then ok() turns false for good.
class Reader {
 public:
  Reader(Bytes bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  bool ok() const { return ok_; }

  std::uint16_t u16(std::uint64_t offset) {
    if (!contains(offset, 2)) return fail();
    return big_endian_ ? load_be16(&bytes_[offset]) : load_le16(&bytes_[offset]);
  }

  std::uint32_t u32(std::uint64_t offset) {
    if (!contains(offset, 4)) return fail();
    return big_endian_ ? load_be32(&bytes_[offset]) : load_le32(&bytes_[offset]);
  }

  std::uint64_t u64(std::uint64_t offset) {
    const std::uint64_t first = u32(offset), second = u32(offset + 4);
    return big_endian_ ? first << 32 | second : second << 32 | first;
  }

  bool contains(std::uint64_t offset, std::uint64_t size) const {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }

 private:
  std::uint8_t fail() {
    ok_ = false;
    return 0;
  }

  Bytes bytes_;
  bool big_endian_;
  bool ok_ = true;
};

/// Bytes of one value by field type; 0 for types that do not exist.
constexpr std::array<std::uint8_t, 19> type_sizes{0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};

/// Tags that pixels and their orientation depend on. A private tag may point anywhere.
bool makes_pixels(std::uint16_t tag) {
  constexpr std::uint16_t xmp = 700;
  return (tag >= 254 && tag <= 350) || (tag >= 512 && tag <= 532) || tag == xmp;
}

}  // namespace

TiffDirectory scan_tiff_directory(Bytes bytes) {
  constexpr std::uint16_t photometric_tag = 262, photometric_palette = 3;
  const bool big_endian = bytes[0] == 'M';
  Reader file(bytes, big_endian);
  const bool big_tiff = file.u16(2) == 43;  // 64-bit offsets
  const std::uint64_t directory = big_tiff ? file.u64(8) : file.u32(4);
  const std::uint64_t count = big_tiff ? file.u64(directory) : file.u16(directory);
  const std::uint64_t entry_size = big_tiff ? 20 : 12, count_size = big_tiff ? 8 : 2,
                      value_size = big_tiff ? 8 : 4;

  TiffDirectory found;
  for (std::uint64_t i = 0; i < count && file.ok(); ++i) {
    const std::uint64_t entry = directory + count_size + i * entry_size,
                        value = entry + entry_size - value_size;
    const std::uint16_t tag = file.u16(entry), type = file.u16(entry + 2);
    const std::uint64_t values = big_tiff ? file.u64(entry + 4) : file.u32(entry + 4);
    const std::uint64_t where = big_tiff ? file.u64(value) : file.u32(value);
    if (tag == photometric_tag) found.has_palette = file.u16(value) == photometric_palette;

    const std::uint64_t size = type < type_sizes.size() ? type_sizes[type] : 0;
    if (!makes_pixels(tag) || size == 0 || values <= value_size / size) continue;
    if (values > bytes.size() / size || !file.contains(where, values * size)) found.is_cut_off = true;
  }
  found.is_cut_off = found.is_cut_off || !file.ok();
  return found;
}

}  // namespace vit::io::internal
