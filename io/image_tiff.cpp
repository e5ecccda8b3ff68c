// The first picture of a TIFF file through libtiff, in the pixel layouts that Pillow reads.
#include <fmt/format.h>
#include <tiffio.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "io/exif.hpp"
#include "io/image_formats.hpp"
#include "io/tiff_directory.hpp"
#include "io/tiff_file.hpp"
#include "io/tiff_samples.hpp"

namespace vit::io::internal {
namespace {

[[noreturn]] void fail_decoding(const EncodedImage& encoded, const TiffFile& file) {
  fail(ErrorCode::image_corrupt, encoded,
       fmt::format("TIFF data cannot be decoded: {}",
                   file.message().empty() ? "no reason given" : file.message()));
}

/// A field, or `otherwise` if the file does not have it. T is the type that libtiff documents for the tag.
template <class T>
T field_or(TIFF* tiff, ttag_t tag, T otherwise) {
  T value = otherwise;
  return TIFFGetField(tiff, tag, &value) == 1 ? value : otherwise;
}

TiffLayout read_layout(TIFF* tiff) {
  TiffLayout layout;
  layout.width = field_or<std::uint32_t>(tiff, TIFFTAG_IMAGEWIDTH, 0);
  layout.height = field_or<std::uint32_t>(tiff, TIFFTAG_IMAGELENGTH, 0);
  layout.bits = field_or<std::uint16_t>(tiff, TIFFTAG_BITSPERSAMPLE, 1);
  layout.samples = field_or<std::uint16_t>(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
  layout.sample_format = field_or<std::uint16_t>(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
  layout.compression = field_or<std::uint16_t>(tiff, TIFFTAG_COMPRESSION, COMPRESSION_NONE);
  layout.photometric = field_or<std::uint16_t>(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISWHITE);
  layout.separate =
      field_or<std::uint16_t>(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) == PLANARCONFIG_SEPARATE;
  layout.big_endian = TIFFIsBigEndian(tiff) != 0;
  std::uint16_t extra_count = 0;
  const std::uint16_t* extra = nullptr;
  if (TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &extra_count, &extra) == 1) {
    layout.extra_samples = extra_count;
    layout.premultiplied = extra_count > 0 && extra[0] == EXTRASAMPLE_ASSOCALPHA;
  }
  std::uint16_t horizontal = 2, vertical = 2;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_YCBCRSUBSAMPLING, &horizontal, &vertical);
  layout.subsampled = horizontal != 1 || vertical != 1;
  return layout;
}

/// 256 colours: the high bytes of the colour map.
std::vector<Rgb> read_palette(TIFF* tiff, const EncodedImage& encoded, const TiffLayout& layout) {
  std::vector<Rgb> palette(256, Rgb{0, 0, 0});
  const std::uint16_t *red = nullptr, *green = nullptr, *blue = nullptr;
  if (layout.bits > 8 || TIFFGetField(tiff, TIFFTAG_COLORMAP, &red, &green, &blue) != 1)
    fail(ErrorCode::image_corrupt, encoded, "TIFF with palette indices but no colour map");
  for (std::size_t i = 0; i < std::size_t{1} << layout.bits; ++i)
    palette[i] = {static_cast<std::uint8_t>(red[i] >> 8), static_cast<std::uint8_t>(green[i] >> 8),
                  static_cast<std::uint8_t>(blue[i] >> 8)};
  return palette;
}

/// Every strip or tile must lie inside the file.
void check_blocks(TIFF* tiff, const EncodedImage& encoded) {
  const std::uint32_t count = TIFFIsTiled(tiff) != 0 ? TIFFNumberOfTiles(tiff) : TIFFNumberOfStrips(tiff);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t offset = TIFFGetStrileOffset(tiff, i), size = TIFFGetStrileByteCount(tiff, i);
    if (offset > encoded.bytes.size() || size > encoded.bytes.size() - offset)
      fail_truncated(encoded, "TIFF",
                     fmt::format("strip or tile {} needs {} from byte {} on", i, size, offset));
  }
}

/// A rectangle of the picture that is decoded at once: a strip or a tile.
struct Block {
  std::uint32_t x, y;
  std::uint32_t width, height;  ///< of the part that lies inside the picture
};

/// Reads blocks with all their planes and converts them to RGB.
class BlockReader {
 public:
  BlockReader(const TiffFile& file, const EncodedImage& encoded, const TiffLayout& layout)
      : file_(file), tiff_(file.get()), encoded_(encoded), layout_(layout), tiled_(TIFFIsTiled(tiff_) != 0) {
    if (tiled_) {
      block_width_ = field_or<std::uint32_t>(tiff_, TIFFTAG_TILEWIDTH, 0);
      block_height_ = field_or<std::uint32_t>(tiff_, TIFFTAG_TILELENGTH, 0);
      check_size(encoded, block_width_, block_height_);
    } else {
      block_width_ = layout.width;
      block_height_ = std::clamp<std::uint32_t>(
          field_or<std::uint32_t>(tiff_, TIFFTAG_ROWSPERSTRIP, layout.height), 1, layout.height);
    }
    row_size_ = tiled_ ? TIFFTileRowSize(tiff_) : TIFFScanlineSize(tiff_);
    block_size_ = tiled_ ? TIFFTileSize(tiff_) : TIFFStripSize(tiff_);
    const std::uint64_t plane_samples = layout.separate ? 1 : layout.samples;
    const std::uint64_t wanted = (std::uint64_t{block_width_} * plane_samples * layout.bits + 7) / 8;
    if (row_size_ <= 0 || block_size_ <= 0 || static_cast<std::uint64_t>(row_size_) < wanted)
      fail_decoding(encoded, file);
  }

  void read_into(Image& image, const std::vector<Rgb>& palette) {
    buffer_.resize(static_cast<std::size_t>(block_size_));
    const std::size_t samples = layout_.samples;
    std::vector<std::uint8_t> row(block_width_ * samples);
    std::vector<std::uint8_t> planes(layout_.separate ? block_height_ * row.size() : 0);
    for (std::uint32_t y = 0; y < layout_.height; y += block_height_)
      for (std::uint32_t x = 0; x < layout_.width; x += block_width_) {
        const Block block{x, y, std::min(block_width_, layout_.width - x),
                          std::min(block_height_, layout_.height - y)};
        if (layout_.separate) {
          read_planes(block, planes);
        } else {
          read_block(block, 0);
        }
        for (std::uint32_t i = 0; i < block.height; ++i) {
          if (layout_.separate) {
            std::copy_n(planes.begin() + static_cast<std::ptrdiff_t>(i * row.size()), row.size(),
                        row.begin());
          } else {
            tiff_samples_to_8_bit(layout_, buffer_row(i), block.width * samples, row.data(), 1);
          }
          const std::size_t first = (std::size_t{y} + i) * layout_.width + x;
          tiff_samples_to_rgb(layout_, palette, row.data(), block.width, &image.pixels[3 * first]);
        }
      }
  }

 private:
  const std::uint8_t* buffer_row(std::size_t y) const {
    return buffer_.data() + y * static_cast<std::size_t>(row_size_);
  }

  /// One plane of a strip or tile into buffer_. All of its rows have to be there.
  void read_block(const Block& block, std::uint16_t plane) {
    const std::uint32_t index =
        tiled_ ? TIFFComputeTile(tiff_, block.x, block.y, 0, plane) : TIFFComputeStrip(tiff_, block.y, plane);
    const std::uint64_t offset = TIFFGetStrileOffset(tiff_, index),
                        size = TIFFGetStrileByteCount(tiff_, index);
    if (offset > encoded_.bytes.size() || size > encoded_.bytes.size() - offset)
      fail_truncated(encoded_, "TIFF", fmt::format("pixels reach up to byte {}", offset + size));
    const tmsize_t needed = tiled_ ? block_size_ : static_cast<tmsize_t>(block.height) * row_size_;
    const tmsize_t got = tiled_ ? TIFFReadEncodedTile(tiff_, index, buffer_.data(), needed)
                                : TIFFReadEncodedStrip(tiff_, index, buffer_.data(), needed);
    if (got < 0) fail_decoding(encoded_, file_);
    if (got < needed) fail_truncated(encoded_, "TIFF", fmt::format("strip or tile {} is too short", index));
  }

  void read_planes(const Block& block, std::vector<std::uint8_t>& planes) {
    const std::size_t samples = layout_.samples;
    for (std::uint16_t plane = 0; plane < layout_.samples; ++plane) {
      read_block(block, plane);
      for (std::uint32_t i = 0; i < block.height; ++i)
        tiff_samples_to_8_bit(layout_, buffer_row(i), block.width,
                              &planes[i * block_width_ * samples + plane], samples);
    }
  }

  const TiffFile& file_;
  TIFF* tiff_;
  const EncodedImage& encoded_;
  const TiffLayout& layout_;
  bool tiled_;
  std::uint32_t block_width_ = 0;
  std::uint32_t block_height_ = 0;
  tmsize_t row_size_ = 0;
  tmsize_t block_size_ = 0;
  std::vector<std::uint8_t> buffer_;
};

/// Subsampled YCbCr: libtiff's own conversion, as Pillow has it too.
void read_as_rgba(const TiffFile& file, const EncodedImage& encoded, Image& image) {
  TIFF* tiff = file.get();
  char message[1024] = {};
  TIFFRGBAImage rgba{};
  if (TIFFRGBAImageOK(tiff, message) == 0 || TIFFRGBAImageBegin(&rgba, tiff, 1, message) == 0)
    fail(ErrorCode::image_unsupported, encoded, fmt::format("TIFF: {}", message));
  const std::unique_ptr<TIFFRGBAImage, void (*)(TIFFRGBAImage*)> release(&rgba, &TIFFRGBAImageEnd);
  rgba.orientation = ORIENTATION_TOPLEFT;
  rgba.req_orientation = ORIENTATION_TOPLEFT;

  const ttag_t rows_tag = TIFFIsTiled(tiff) != 0 ? TIFFTAG_TILELENGTH : TIFFTAG_ROWSPERSTRIP;
  const auto height = static_cast<std::uint32_t>(image.height),
             width = static_cast<std::uint32_t>(image.width);
  const std::uint32_t rows =
      std::clamp<std::uint32_t>(field_or<std::uint32_t>(tiff, rows_tag, height), 1, height);
  std::vector<std::uint32_t> raster(std::size_t{rows} * width);
  std::uint8_t* rgb = image.pixels.data();
  for (std::uint32_t y = 0; y < height; y += rows) {
    const std::uint32_t count = std::min(rows, height - y);
    rgba.row_offset = static_cast<int>(y);
    if (TIFFRGBAImageGet(&rgba, raster.data(), width, count) == 0) fail_decoding(encoded, file);
    for (std::size_t i = 0; i < std::size_t{count} * width; ++i, rgb += 3) {
      rgb[0] = static_cast<std::uint8_t>(TIFFGetR(raster[i]));
      rgb[1] = static_cast<std::uint8_t>(TIFFGetG(raster[i]));
      rgb[2] = static_cast<std::uint8_t>(TIFFGetB(raster[i]));
    }
  }
}

/// libtiff's orientation tag, or that of the XMP packet.
int read_orientation(TIFF* tiff) {
  std::uint16_t orientation = 0;
  if (TIFFGetField(tiff, TIFFTAG_ORIENTATION, &orientation) == 1) return orientation;
  std::uint32_t size = 0;
  const char* xmp = nullptr;
  if (TIFFGetField(tiff, TIFFTAG_XMLPACKET, &size, &xmp) != 1) return 1;
  return xmp_orientation({xmp, size}).value_or(1);
}

}  // namespace

DecodedImage decode_tiff(const EncodedImage& encoded) {
  const TiffDirectory directory = scan_tiff_directory(encoded.bytes);
  if (directory.is_cut_off) fail_truncated(encoded, "TIFF", "its directory reaches beyond the end");
  const TiffFile file(encoded.bytes);
  TIFF* tiff = file.get();
  if (tiff == nullptr) fail_decoding(encoded, file);
  TiffLayout layout = read_layout(tiff);
  if (directory.has_palette) layout.photometric = PHOTOMETRIC_PALETTE;  // libtiff may have made it gray
  check_size(encoded, layout.width, layout.height);
  const bool is_ycbcr = layout.photometric == PHOTOMETRIC_YCBCR && layout.samples > 1;
  if (is_ycbcr && layout.compression == COMPRESSION_JPEG && !layout.separate) {
    TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    layout.photometric = PHOTOMETRIC_RGB;
  }
  const bool as_rgba = layout.photometric == PHOTOMETRIC_YCBCR && is_ycbcr &&
                       (layout.compression != COMPRESSION_NONE || layout.subsampled);
  if (!as_rgba) check_tiff_layout(encoded, layout);
  check_blocks(tiff, encoded);

  DecodedImage decoded;
  decoded.image = allocate_image(encoded, layout.width, layout.height);
  if (as_rgba) {
    read_as_rgba(file, encoded, decoded.image);
  } else {
    const std::vector<Rgb> palette =
        layout.photometric == PHOTOMETRIC_PALETTE ? read_palette(tiff, encoded, layout) : std::vector<Rgb>();
    BlockReader(file, encoded, layout).read_into(decoded.image, palette);
  }
  // Pillow turns TIFF pictures upright when it loads them, whoever asks.
  decoded.image.orientation = read_orientation(tiff);
  turn_upright(decoded.image);
  return decoded;
}

}  // namespace vit::io::internal
