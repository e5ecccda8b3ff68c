#include "io/tiff_samples.hpp"

#include <fmt/format.h>
#include <tiff.h>

#include <algorithm>
#include <cstring>

#include "io/byte_order.hpp"

namespace vit::io::internal {
namespace {

bool is_gray(const TiffLayout& layout) {
  // A single sample of YCbCr is luma.
  return layout.photometric <= PHOTOMETRIC_MINISBLACK ||
         (layout.photometric == PHOTOMETRIC_YCBCR && layout.samples == 1);
}

/// Gray of one sample: what Pillow's table of modes has, byte order and all.
bool is_known_gray(const TiffLayout& layout) {
  const bool white_is_zero = layout.photometric == PHOTOMETRIC_MINISWHITE;
  const bool is_unsigned = layout.sample_format == SAMPLEFORMAT_UINT;
  const bool is_signed = layout.sample_format == SAMPLEFORMAT_INT;
  switch (layout.bits) {
    case 1:
    case 2:
    case 4:
      return is_unsigned;
    case 8:
      return is_unsigned || (is_signed && !white_is_zero);
    case 12:
      return is_unsigned && !white_is_zero && !layout.big_endian;
    case 16:
      return white_is_zero ? is_unsigned && !layout.big_endian : is_unsigned || is_signed;
    case 32:
      return layout.sample_format == SAMPLEFORMAT_IEEEFP ||
             (!white_is_zero && (is_signed || (is_unsigned && !layout.big_endian)));
    default:
      return false;
  }
}

bool is_known(const TiffLayout& layout) {
  const bool is_unsigned = layout.sample_format == SAMPLEFORMAT_UINT;
  const bool bytes = layout.bits == 8 && is_unsigned, words = layout.bits == 16 && is_unsigned;
  const int colours = layout.samples - layout.extra_samples;
  if (layout.samples > 6 || colours < 1) return false;
  switch (layout.photometric) {
    case PHOTOMETRIC_MINISWHITE:
      return layout.samples == 1 && is_known_gray(layout);
    case PHOTOMETRIC_MINISBLACK:
      if (layout.samples == 1) return is_known_gray(layout);
      return bytes && layout.samples == 2 && layout.extra_samples == 1 && !layout.premultiplied;
    case PHOTOMETRIC_RGB:
      // Four samples without a word about the fourth: taken for alpha.
      return (bytes || words) && (colours == 3 || (colours == 4 && layout.extra_samples == 0));
    case PHOTOMETRIC_PALETTE:
      return layout.bits <= 8 && is_unsigned && colours == 1 && layout.samples <= 2;
    case PHOTOMETRIC_SEPARATED:
      return (bytes || words) && colours == 4;
    case PHOTOMETRIC_YCBCR:
      return bytes && (layout.samples == 3 || layout.samples == 1);
    default:
      return false;
  }
}

std::uint8_t clip(std::int64_t value) {
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(value, 0, 255));
}

template <class T>
T load(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// A sample of 1, 2, 4 or 12 bits, the first in the highest bits.
unsigned packed_sample(const std::uint8_t* from, std::size_t index, unsigned bits) {
  if (bits == 12) {
    const std::uint8_t* at = from + index / 2 * 3;
    return index % 2 == 0 ? load_be16(at) >> 4U : load_be16(at + 1) & 0xfffU;
  }
  const std::size_t per_byte = 8 / bits;
  const unsigned shift = static_cast<unsigned>(8 - bits * (1 + index % per_byte));
  return from[index / per_byte] >> shift & ((1U << bits) - 1);
}

/// A wide gray sample, clipped. Fractions are dropped, and NaN is black.
std::uint8_t clipped_sample(const TiffLayout& layout, const std::uint8_t* from, std::size_t index) {
  const bool is_signed = layout.sample_format == SAMPLEFORMAT_INT;
  if (layout.bits == 12) return clip(packed_sample(from, index, 12));
  if (layout.bits == 16) {
    const auto word = load<std::uint16_t>(from + 2 * index);
    return clip(is_signed ? std::int64_t{static_cast<std::int16_t>(word)} : std::int64_t{word});
  }
  if (layout.sample_format == SAMPLEFORMAT_IEEEFP) {
    const auto value = load<float>(from + 4 * index);
    return value >= 255.0F ? 255 : value > 0.0F ? static_cast<std::uint8_t>(value) : 0;
  }
  return clip(load<std::int32_t>(from + 4 * index));  // Pillow takes unsigned ones for signed as well
}

/// Premultiplied colours divided by their alpha, as Pillow does it: black where alpha is 0.
void put_unpremultiplied(std::uint8_t* rgb, const std::uint8_t* rgba) {
  const int alpha = rgba[3];
  for (int i = 0; i < 3; ++i) rgb[i] = alpha == 0 ? std::uint8_t{0} : clip(rgba[i] * 255 / alpha);
}

/// 8-bit YCbCr (JFIF) with 6 fractional bits, rounded the way Pillow's tables are.
void put_ycbcr(std::uint8_t* rgb, const std::uint8_t* ycbcr) {
  const auto scaled = [](double factor, int chroma) {
    return static_cast<int>(factor * (chroma - 128) * 64 + 0.5);
  };
  const int y = ycbcr[0], cb = ycbcr[1], cr = ycbcr[2];
  rgb[0] = clip(y + (scaled(1.402, cr) >> 6));
  rgb[1] = clip(y + ((scaled(-0.34414, cb) + scaled(-0.71414, cr)) >> 6));
  rgb[2] = clip(y + (scaled(1.772, cb) >> 6));
}

}  // namespace

void check_tiff_layout(const EncodedImage& encoded, const TiffLayout& layout) {
  if (is_known(layout)) return;
  fail(ErrorCode::image_unsupported, encoded,
       fmt::format(
           "TIFF with {} samples ({} extra) of {} bits, sample format {}, photometric interpretation {}{}",
           layout.samples, layout.extra_samples, layout.bits, layout.sample_format, layout.photometric,
           layout.big_endian ? ", big-endian" : ""));
}

void tiff_samples_to_8_bit(const TiffLayout& layout, const std::uint8_t* from, std::size_t count,
                           std::uint8_t* to, std::size_t step) {
  const bool gray = is_gray(layout);
  // Pillow inverts "white is zero" up to 8 bits and forgets it beyond.
  const unsigned invert = layout.photometric == PHOTOMETRIC_MINISWHITE && layout.bits <= 8 ? 255 : 0;
  for (std::size_t i = 0; i < count; ++i, to += step) {
    if (layout.bits == 8) {
      *to = static_cast<std::uint8_t>(from[i] ^ invert);
    } else if (layout.bits < 8) {
      const unsigned scale = gray ? 255 / ((1U << layout.bits) - 1) : 1;
      *to = static_cast<std::uint8_t>(packed_sample(from, i, layout.bits) * scale ^ invert);
    } else if (gray) {
      *to = clipped_sample(layout, from, i);
    } else {
      *to = static_cast<std::uint8_t>(load<std::uint16_t>(from + 2 * i) >> 8);
    }
  }
}

void tiff_samples_to_rgb(const TiffLayout& layout, const std::vector<Rgb>& palette, const std::uint8_t* from,
                         std::size_t count, std::uint8_t* rgb) {
  for (std::size_t i = 0; i < count; ++i, from += layout.samples, rgb += 3) {
    if (is_gray(layout)) {
      put_gray(rgb, from[0]);
    } else if (layout.photometric == PHOTOMETRIC_PALETTE) {
      std::copy(palette[from[0]].begin(), palette[from[0]].end(), rgb);
    } else if (layout.photometric == PHOTOMETRIC_SEPARATED) {
      put_cmyk(rgb, from);
    } else if (layout.photometric == PHOTOMETRIC_YCBCR) {
      put_ycbcr(rgb, from);
    } else if (layout.premultiplied) {
      put_unpremultiplied(rgb, from);
    } else {
      std::copy_n(from, 3, rgb);
    }
  }
}

}  // namespace vit::io::internal
