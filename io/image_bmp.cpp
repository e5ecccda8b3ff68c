// Windows and OS/2 bitmaps, by Pillow's rules: which headers, masks and compressions are read, that the
// fourth byte of a pixel never counts, and how run-length data that leaves pixels out is filled up.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "io/byte_order.hpp"
#include "io/image_formats.hpp"

namespace vit::io::internal {
namespace {

constexpr std::size_t file_header_size = 14;
enum Compression : std::uint32_t { raw = 0, rle8 = 1, rle4 = 2, bitfields = 3 };

struct Header {
  std::int64_t width = 0;
  std::int64_t height = 0;
  bool top_down = false;
  unsigned bits = 0;
  std::uint32_t compression = raw;
  std::uint32_t colours = 0;             ///< entries of the palette
  std::size_t palette_entry_size = 4;    ///< bytes
  std::size_t palette_offset = 0;        ///< in the file
  std::size_t pixel_offset = 0;          ///< in the file
  std::array<std::uint32_t, 3> masks{};  ///< red, green, blue
};

/// The masks that Pillow knows, with the byte (32-bit) or the widths (16-bit) that they stand for.
struct Layout {
  unsigned bits;
  std::array<std::uint32_t, 3> masks;
  std::array<std::uint8_t, 3> bytes;  ///< of red, green, blue within a pixel of 24 or 32 bits
};
constexpr std::array layouts{
    Layout{32, {0xff0000, 0xff00, 0xff}, {2, 1, 0}},
    Layout{32, {0xff000000, 0xff0000, 0xff00}, {3, 2, 1}},
    Layout{32, {0xff000000, 0xff00, 0xff}, {3, 1, 0}},
    Layout{32, {0xff, 0xff00, 0xff0000}, {0, 1, 2}},
    Layout{32, {0, 0, 0}, {2, 1, 0}},
    Layout{24, {0xff0000, 0xff00, 0xff}, {2, 1, 0}},
    Layout{16, {0xf800, 0x7e0, 0x1f}, {5, 6, 5}},
    Layout{16, {0x7c00, 0x3e0, 0x1f}, {5, 5, 5}},
};

const std::uint8_t* require(const EncodedImage& encoded, std::size_t offset, std::size_t size) {
  if (offset > encoded.bytes.size() || size > encoded.bytes.size() - offset)
    fail_truncated(encoded, "BMP", fmt::format("{} are needed", offset + size));
  return encoded.bytes.data() + offset;
}

void read_sizes(const std::uint8_t* header, std::size_t header_size, Header& bmp) {
  if (header_size == 12) {
    bmp.width = load_le16(header + 4);
    bmp.height = load_le16(header + 6);
    bmp.bits = load_le16(header + 10);
    bmp.palette_entry_size = 3;
    return;
  }
  bmp.width = load_le32(header + 4);
  bmp.height = load_le32(header + 8);
  bmp.top_down = header[11] == 0xff;  // a small negative number
  if (bmp.top_down) bmp.height = (std::int64_t{1} << 32) - bmp.height;
  bmp.bits = load_le16(header + 14);
  bmp.compression = load_le32(header + 16);
  bmp.colours = load_le32(header + 32);
}

void check_kind(const EncodedImage& encoded, const Header& bmp) {
  constexpr std::array<unsigned, 6> depths{1, 4, 8, 16, 24, 32};
  if (std::find(depths.begin(), depths.end(), bmp.bits) == depths.end())
    fail(ErrorCode::image_unsupported, encoded, fmt::format("BMP with {} bits per pixel", bmp.bits));
  const bool known = bmp.compression == raw || (bmp.compression == bitfields && bmp.bits >= 16) ||
                     ((bmp.compression == rle8 || bmp.compression == rle4) && bmp.bits <= 8);
  if (!known)
    fail(ErrorCode::image_unsupported, encoded,
         fmt::format("BMP with compression {} and {} bits per pixel", bmp.compression, bmp.bits));
}

Header read_header(const EncodedImage& encoded) {
  Header bmp;
  const std::uint8_t* file = require(encoded, 0, file_header_size + 4);
  const std::size_t header_size = load_le32(file + 14);
  constexpr std::array<std::size_t, 7> header_sizes{12, 40, 52, 56, 64, 108, 124};
  if (std::find(header_sizes.begin(), header_sizes.end(), header_size) == header_sizes.end())
    fail(ErrorCode::image_unsupported, encoded, fmt::format("BMP with a header of {} bytes", header_size));
  const std::uint8_t* header = require(encoded, file_header_size, header_size);
  read_sizes(header, header_size, bmp);
  check_size(encoded, bmp.width, bmp.height);
  check_kind(encoded, bmp);

  bmp.palette_offset = file_header_size + header_size;
  if (bmp.compression == bitfields) {
    // The oldest header has the masks behind it, the newer ones inside.
    const std::uint8_t* masks = header_size == 40 ? require(encoded, bmp.palette_offset, 12) : header + 40;
    for (std::size_t i = 0; i < 3; ++i) bmp.masks[i] = load_le32(masks + 4 * i);
    if (header_size == 40) bmp.palette_offset += 12;
  }
  bmp.pixel_offset = load_le32(file + 10);
  if (bmp.bits <= 8) {
    if (bmp.colours == 0) bmp.colours = 1U << bmp.bits;
    if (bmp.colours > 65536)
      fail(ErrorCode::image_corrupt, encoded, fmt::format("BMP with {} palette entries", bmp.colours));
    // Some writers forget the palette when they say where the pixels begin.
    const std::size_t palette_size = bmp.palette_entry_size * bmp.colours;
    if (bmp.pixel_offset == file_header_size + header_size) bmp.pixel_offset += palette_size;
    if (bmp.pixel_offset == 0) bmp.pixel_offset = bmp.palette_offset + palette_size;
  }
  if (bmp.pixel_offset == 0) bmp.pixel_offset = bmp.palette_offset;
  return bmp;
}

/// 256 colours, black beyond the palette. A palette that says "index i is gray i" is no palette to Pillow,
/// and then the indices beyond it are grays as well.
std::array<Rgb, 256> read_palette(const EncodedImage& encoded, const Header& bmp) {
  std::array<Rgb, 256> palette{};
  const std::size_t available = (encoded.bytes.size() - bmp.palette_offset) / bmp.palette_entry_size;
  const std::size_t count = std::min<std::size_t>(bmp.colours, available);
  bool is_gray = count == bmp.colours;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* bgr = &encoded.bytes[bmp.palette_offset + i * bmp.palette_entry_size];
    const std::size_t gray = bmp.colours == 2 ? 255 * i : i & 255;
    is_gray = is_gray && bgr[0] == gray && bgr[1] == gray && bgr[2] == gray;
    if (i < 256) palette[i] = {bgr[2], bgr[1], bgr[0]};
  }
  if (!is_gray && count > 256)
    fail(ErrorCode::image_corrupt, encoded, fmt::format("BMP with {} palette entries", bmp.colours));
  if (is_gray && bmp.colours <= 2 && bmp.bits == 1) palette[1] = {255, 255, 255};
  if (is_gray && bmp.bits == 8)
    for (std::size_t i = bmp.colours; i < 256; ++i) palette[i].fill(static_cast<std::uint8_t>(i));
  return palette;
}

/// Bits of a packed pixel as an index.
std::uint8_t index_at(const std::uint8_t* row, std::size_t x, unsigned bits) {
  switch (bits) {
    case 1:
      return row[x / 8] >> (7 - x % 8) & 1;
    case 4:
      return row[x / 2] >> (x % 2 == 0 ? 4 : 0) & 15;
    default:
      return row[x];
  }
}

void convert_indexed(const std::uint8_t* row, unsigned bits, const std::array<Rgb, 256>& palette,
                     std::size_t width, std::uint8_t* rgb) {
  for (std::size_t x = 0; x < width; ++x) {
    const Rgb& colour = palette[index_at(row, x, bits)];
    rgb = std::copy(colour.begin(), colour.end(), rgb);
  }
}

void convert_direct(const std::uint8_t* row, const Layout& layout, std::size_t width, std::uint8_t* rgb) {
  const std::size_t step = layout.bits / 8;
  for (std::size_t x = 0; x < width; ++x, row += step, rgb += 3) {
    if (layout.bits > 16) {
      for (std::size_t i = 0; i < 3; ++i) rgb[i] = row[layout.bytes[i]];
      continue;
    }
    const unsigned pixel = load_le16(row);
    const unsigned green_max = (1U << layout.bytes[1]) - 1;
    rgb[0] = static_cast<std::uint8_t>((pixel >> (5 + layout.bytes[1]) & 31) * 255 / 31);
    rgb[1] = static_cast<std::uint8_t>((pixel >> 5 & green_max) * 255 / green_max);
    rgb[2] = static_cast<std::uint8_t>((pixel & 31) * 255 / 31);
  }
}

const Layout& find_layout(const EncodedImage& encoded, const Header& bmp) {
  std::array<std::uint32_t, 3> masks = bmp.masks;
  if (bmp.compression == raw) masks = bmp.bits == 16 ? layouts.back().masks : layouts.front().masks;
  for (const Layout& layout : layouts)
    if (layout.bits == bmp.bits && layout.masks == masks) return layout;
  fail(ErrorCode::image_unsupported, encoded,
       fmt::format("BMP with the colour masks {:#x}, {:#x}, {:#x}", masks[0], masks[1], masks[2]));
}

/// Run-length data to one index per pixel. Skipped pixels are index 0.
class RunLengthReader {
 public:
  RunLengthReader(const EncodedImage& encoded, const Header& bmp)
      : encoded_(encoded),
        position_(bmp.pixel_offset),
        four_bits_(bmp.compression == rle4),
        width_(static_cast<std::size_t>(bmp.width)),
        size_(width_ * static_cast<std::size_t>(bmp.height)) {}

  std::vector<std::uint8_t> read() {
    // At most 255 pixels come out of two bytes, or a skip of 65535 out of four: nothing is reserved on the
    // header's word.
    while (indices_.size() < size_) {
      const std::uint8_t count = next();
      const std::uint8_t value = next();
      if (count != 0) {
        put_run(count, value);
      } else if (value == end_of_line) {
        indices_.resize((indices_.size() + width_ - 1) / width_ * width_);
        x_ = 0;
      } else if (value == end_of_bitmap) {
        break;
      } else if (value == delta) {
        const std::size_t right = next(), up = next();
        indices_.resize(indices_.size() + std::min(size_ - indices_.size(), right + up * width_));
        x_ = indices_.size() % width_;
      } else {
        put_literals(value);
      }
    }
    if (indices_.size() < size_)
      fail_truncated(encoded_, "BMP", fmt::format("{} of {} pixels", indices_.size(), size_));
    return std::move(indices_);
  }

 private:
  static constexpr std::uint8_t end_of_line = 0, end_of_bitmap = 1, delta = 2;

  std::uint8_t next() { return *require(encoded_, position_++, 1); }

  void put_run(std::size_t count, std::uint8_t value) {
    count = std::min(count, x_ < width_ ? width_ - x_ : 0);  // a run does not go on in the next row
    for (std::size_t i = 0; i < count; ++i)
      indices_.push_back(!four_bits_ ? value : i % 2 == 0 ? value >> 4 : value & 15);
    x_ += count;
  }

  void put_literals(std::size_t count) {
    const std::size_t wanted = std::min(size_ - indices_.size(), count);
    for (std::size_t i = 0; i < wanted; ++i) {
      if (!four_bits_) {
        indices_.push_back(next());
      } else if (i % 2 == 0) {
        indices_.push_back(next() >> 4);
      } else {
        indices_.push_back(encoded_.bytes[position_ - 1] & 15);
      }
    }
    x_ += count;
    if (position_ % 2 != 0) ++position_;  // literals are padded to a whole word of the file
  }

  const EncodedImage& encoded_;
  std::size_t position_;
  bool four_bits_;
  std::size_t width_;
  std::size_t size_;
  std::size_t x_ = 0;
  std::vector<std::uint8_t> indices_;
};

}  // namespace

DecodedImage decode_bmp(const EncodedImage& encoded) {
  const Header bmp = read_header(encoded);
  const auto width = static_cast<std::size_t>(bmp.width), height = static_cast<std::size_t>(bmp.height);
  const bool indexed = bmp.bits <= 8;
  const bool run_length = bmp.compression == rle8 || bmp.compression == rle4;
  const auto palette = indexed ? read_palette(encoded, bmp) : std::array<Rgb, 256>{};
  const Layout& layout = indexed ? layouts.front() : find_layout(encoded, bmp);

  // Rows are padded to four bytes, but the last one need not be.
  const std::vector<std::uint8_t> expanded =
      run_length ? RunLengthReader(encoded, bmp).read() : std::vector<std::uint8_t>();
  const std::size_t stride = run_length ? width : (width * bmp.bits + 31) / 32 * 4;
  const std::size_t last_row = run_length ? width : (width * bmp.bits + 7) / 8;
  const std::uint8_t* rows =
      run_length ? expanded.data() : require(encoded, bmp.pixel_offset, stride * (height - 1) + last_row);

  DecodedImage decoded;
  decoded.image = allocate_image(encoded, bmp.width, bmp.height);
  for (std::size_t y = 0; y < height; ++y) {
    const std::uint8_t* row = rows + y * stride;
    std::uint8_t* rgb = &decoded.image.pixels[(bmp.top_down ? y : height - 1 - y) * width * 3];
    if (indexed) {
      convert_indexed(row, run_length ? 8 : bmp.bits, palette, width, rgb);
    } else {
      convert_direct(row, layout, width, rgb);
    }
  }
  return decoded;
}

}  // namespace vit::io::internal
