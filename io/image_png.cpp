// PNG through libpng, which is shown the chunks that make pixels (IHDR, PLTE, IDAT) and no others: gamma, ICC
// profiles and animation frames do not count, and transparency is Pillow's business, not libpng's.
#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <vector>

#include "io/byte_order.hpp"
#include "io/exif.hpp"
#include "io/image_formats.hpp"
#include "io/png_chunks.hpp"

namespace vit::io::internal {
namespace {

/// Hands libpng one piece of memory after the other.
struct PieceReader {
  std::vector<Bytes> pieces;
  std::size_t index = 0;
  bool ran_dry = false;

  bool read(std::uint8_t* to, std::size_t size) {
    while (size > 0) {
      if (index == pieces.size()) return false;
      const std::size_t part = std::min(size, pieces[index].size());
      std::memcpy(to, pieces[index].data(), part);
      pieces[index] = pieces[index].subspan(part);
      if (pieces[index].empty()) ++index;
      to += part;
      size -= part;
    }
    return true;
  }
};

/// A libpng reader whose errors come back as `false` with a message.
///
/// libpng reports errors by a function that must not return, so the steps below leave through longjmp. No
/// step has an object with a destructor on its stack.
class PngReader {
 public:
  explicit PngReader(PieceReader& pieces) : pieces_(pieces) {
    png_ =
        png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &on_error, [](png_structp, png_const_charp) {});
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) throw std::bad_alloc();
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  /// Reads the header and asks for RGB rows, or for 16-bit gray ones as they are.
  bool start() {
    if (setjmp(exit_) != 0) return false;
    png_set_read_fn(png_, this, &on_read);
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);     // ours has been checked
    png_set_crc_action(png_, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);  // so have the checksums
    png_read_info(png_, info_);
    const png_byte colour_type = png_get_color_type(png_, info_);
    const png_byte bit_depth = png_get_bit_depth(png_, info_);
    if (!(colour_type == PNG_COLOR_TYPE_GRAY && bit_depth == 16)) {
      png_set_strip_16(png_);
      png_set_strip_alpha(png_);
      if (colour_type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
      if (colour_type == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png_);
      png_set_gray_to_rgb(png_);
    }
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  std::size_t row_bytes() const { return png_get_rowbytes(png_, info_); }

  bool read_rows(std::uint8_t* first, std::size_t stride, std::uint32_t height) {
    if (setjmp(exit_) != 0) return false;
    for (int pass = 0; pass < passes_; ++pass)
      for (std::uint32_t y = 0; y < height; ++y) png_read_row(png_, first + y * stride, nullptr);
    return true;
  }

  [[noreturn]] void fail_with_reason(const EncodedImage& encoded) const {
    if (pieces_.ran_dry) fail_truncated(encoded, "PNG", "there are fewer pixels than the header says");
    fail(ErrorCode::image_corrupt, encoded, fmt::format("PNG data cannot be decoded: {}", message_));
  }

 private:
  [[noreturn]] static void on_error(png_structp png, png_const_charp message) {
    auto* self = static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(self->message_, message, sizeof self->message_ - 1);
    std::longjmp(self->exit_, 1);
  }

  static void on_read(png_structp png, png_bytep to, std::size_t size) {
    auto* self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (self->pieces_.read(to, size)) return;
    self->pieces_.ran_dry = true;
    png_error(png, "the data ends early");
  }

  PieceReader& pieces_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
  std::jmp_buf exit_{};
  char message_[128] = {};
};

/// A PLTE chunk with all the colours that the bit depth allows: those that the file leaves out are black, as
/// in Pillow. Its checksum is not looked at.
std::vector<std::uint8_t> make_palette_chunk(const PngChunks& chunks) {
  const std::size_t size = std::size_t{3} << chunks.bit_depth;
  std::vector<std::uint8_t> chunk{
      0, 0, static_cast<std::uint8_t>(size >> 8), static_cast<std::uint8_t>(size & 255), 'P', 'L', 'T', 'E'};
  chunk.resize(8 + size + 4);
  std::copy_n(chunks.palette.begin(), std::min(size, chunks.palette.size()), chunk.begin() + 8);
  return chunk;
}

/// 16-bit gray, stored at the end of the row, to RGB in place: Pillow clips it to 255.
void expand_gray16(std::uint8_t* row, std::size_t width) {
  const std::uint8_t* gray = row + width;
  for (std::size_t x = 0; x < width; ++x) {
    const std::uint8_t value = gray[2 * x] != 0 ? 255 : gray[2 * x + 1];
    put_gray(row + 3 * x, value);
  }
}

/// The colour that transformers paints white, seen through Pillow's conversions: the key keeps its low byte
/// (16-bit RGB) or is clipped (gray, not scaled to 8 bits); of bilevel and 16-bit gray only red is compared.
std::optional<Rgb> colour_key(const PngChunks& chunks) {
  const Bytes key = chunks.transparency;
  switch (chunks.colour_type) {
    case PNG_COLOR_TYPE_RGB:
      if (key.size() < 6) return std::nullopt;
      return Rgb{key[1], key[3], key[5]};
    case PNG_COLOR_TYPE_GRAY: {
      if (key.size() < 2) return std::nullopt;
      const bool is_zero = key[0] == 0 && key[1] == 0;
      if (chunks.bit_depth == 1) return Rgb{static_cast<std::uint8_t>(is_zero ? 0 : 255), 0, 0};
      if (chunks.bit_depth == 16) return Rgb{key[1], 0, 0};
      const std::uint8_t clipped = key[0] != 0 ? 255 : key[1];
      return Rgb{clipped, clipped, clipped};
    }
    case PNG_COLOR_TYPE_PALETTE: {
      // Only a palette with a single transparent entry, all others opaque, has a colour key.
      const auto zero = std::find_if(key.begin(), key.end(), [](std::uint8_t alpha) { return alpha != 255; });
      if (zero == key.end() || *zero != 0) return std::nullopt;
      if (std::any_of(zero + 1, key.end(), [](std::uint8_t alpha) { return alpha != 255; }))
        return std::nullopt;
      const auto entry = static_cast<std::size_t>(zero - key.begin());
      Rgb colour{0, 0, 0};
      if (3 * entry + 3 <= chunks.palette.size())
        std::copy_n(chunks.palette.begin() + static_cast<std::ptrdiff_t>(3 * entry), 3, colour.begin());
      return colour;
    }
    default:
      return std::nullopt;  // an alpha channel: Pillow does not read tRNS
  }
}

/// The hexadecimal digits after the profile's third line, as bytes.
std::vector<std::uint8_t> parse_raw_profile(std::string_view text) {
  for (int line = 0; line < 3; ++line) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) return {};
    text.remove_prefix(end + 1);
  }
  std::vector<std::uint8_t> bytes;
  int high = -1;
  for (const char c : text) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) continue;
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<std::uint8_t>(high << 4 | digit));
      high = -1;
    }
  }
  return bytes;
}

}  // namespace

DecodedImage decode_png(const EncodedImage& encoded) {
  const PngChunks chunks = read_png_chunks(encoded);
  const bool has_palette = chunks.colour_type == PNG_COLOR_TYPE_PALETTE;
  if (has_palette && chunks.palette.empty())
    fail(ErrorCode::image_corrupt, encoded, "PNG with palette indices but no palette (PLTE)");
  check_size(encoded, chunks.width, chunks.height);

  PieceReader pieces;
  std::vector<std::uint8_t> palette_chunk;
  pieces.pieces = {encoded.bytes.first(8), chunks.header};
  if (has_palette && chunks.bit_depth <= 8) {
    palette_chunk = make_palette_chunk(chunks);
    pieces.pieces.emplace_back(palette_chunk);
  }
  pieces.pieces.insert(pieces.pieces.end(), chunks.image_data.begin(), chunks.image_data.end());

  PngReader reader(pieces);
  if (!reader.start()) reader.fail_with_reason(encoded);
  DecodedImage decoded;
  decoded.image = allocate_image(encoded, chunks.width, chunks.height);
  const auto width = static_cast<std::size_t>(chunks.width);
  const bool gray16 = chunks.colour_type == PNG_COLOR_TYPE_GRAY && chunks.bit_depth == 16;
  if (reader.row_bytes() != (gray16 ? 2 : 3) * width)
    fail(ErrorCode::internal, encoded, "unexpected PNG row size");
  std::uint8_t* pixels = decoded.image.pixels.data();
  if (!reader.read_rows(pixels + (gray16 ? width : 0), 3 * width, chunks.height))
    reader.fail_with_reason(encoded);
  if (gray16)
    for (std::size_t y = 0; y < chunks.height; ++y) expand_gray16(pixels + y * 3 * width, width);

  const std::vector<std::uint8_t> profile = parse_raw_profile(chunks.raw_profile);
  decoded.image.orientation = orientation_of(chunks.exif.empty() ? Bytes(profile) : chunks.exif, chunks.xmp);
  decoded.colour_key = colour_key(chunks);
  return decoded;
}

}  // namespace vit::io::internal
