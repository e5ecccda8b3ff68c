// What io/image.cpp and the decoders of the single formats agree on. Internal: not installed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/image.hpp"
#include "vit/error.hpp"

namespace vit::io::internal {

using Bytes = std::span<const std::uint8_t>;
using Rgb = std::array<std::uint8_t, 3>;

/// The bytes of a picture file, its name for messages, and the most pixels that may be decoded.
struct EncodedImage {
  Bytes bytes;
  std::string_view name;
  std::int64_t max_pixels = 0;
};

/// What a decoder found: the pixels as stored, and what is still to be done to them.
struct DecodedImage {
  Image image;                    ///< with its orientation
  std::optional<Rgb> colour_key;  ///< the colour that stands for "transparent"
};

/// Throws Error(code, "<name>: <what>").
[[noreturn]] void fail(ErrorCode code, const EncodedImage& encoded, const std::string& what);

/// Throws image_truncated: "<name>: <format> data ends early (<size> bytes, <expected>)".
[[noreturn]] void fail_truncated(const EncodedImage& encoded, std::string_view format,
                                 std::string_view expected = "");

/// Throws unless 1 <= width * height <= max_pixels. Every decoder calls it before it takes memory for pixels.
void check_size(const EncodedImage& encoded, std::int64_t width, std::int64_t height);

/// check_size, then a black picture of that size.
Image allocate_image(const EncodedImage& encoded, std::int64_t width, std::int64_t height);

inline void put_gray(std::uint8_t* rgb, std::uint8_t gray) {
  rgb[0] = rgb[1] = rgb[2] = gray;
}

/// Pillow's CMYK to RGB: (255 - k) minus the rounded product with the ink.
inline void put_cmyk(std::uint8_t* rgb, const std::uint8_t* cmyk) {
  const int white = 255 - cmyk[3];
  for (int i = 0; i < 3; ++i) {
    const int product = cmyk[i] * white + 128;
    rgb[i] = static_cast<std::uint8_t>(white - ((product >> 8) + product) / 256);
  }
}

// One file each. All throw Error and nothing else but std::bad_alloc.
DecodedImage decode_png(const EncodedImage& encoded);
DecodedImage decode_jpeg(const EncodedImage& encoded);
DecodedImage decode_gif(const EncodedImage& encoded);
DecodedImage decode_webp(const EncodedImage& encoded);
DecodedImage decode_bmp(const EncodedImage& encoded);
DecodedImage decode_tiff(const EncodedImage& encoded);
DecodedImage decode_pnm(const EncodedImage& encoded);

}  // namespace vit::io::internal
