// Encoded picture bytes -> RGB pixels, the same pixels that Pillow gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace vit::io {

/// A decoded picture: 8-bit RGB, rows without padding, shape [height, width, 3].
struct Image {
  std::int64_t height = 0;  ///< pixels
  std::int64_t width = 0;   ///< pixels
  std::vector<std::uint8_t> pixels;
  int orientation = 1;  ///< EXIF's, 1 to 8, where it is still to be applied; 1: upright
};

/// What happens to the orientation that EXIF records (JPEG, PNG eXIf, WebP, TIFF).
enum class Exif {
  apply,   ///< rotate and mirror upright, as the Hugging Face pipelines do
  ignore,  ///< leave the stored orientation, as timm and torchvision do (but TIFF: Pillow always rotates it)
};

/// What becomes of a transparent picture's hidden colours.
enum class Transparency {
  drop,                 ///< alpha and colour keys are dropped (Pillow's convert("RGB"))
  colour_key_on_white,  ///< as drop, but pixels of a tRNS colour key become white
                        ///< (Hugging Face processors with do_convert_rgb)
};

struct DecodeOptions {
  Exif exif = Exif::apply;
  Transparency transparency = Transparency::drop;
  /// Most pixels (height * width, as the header states them) that are decoded; checked before memory is
  /// taken. The default is where Pillow refuses a "decompression bomb".
  std::int64_t max_pixels = std::int64_t{2} * 89'478'485;
};

/// Decodes PNG, JPEG, GIF (first frame), WebP (first frame), BMP, TIFF and PNM from memory.
///
/// The pixels are those of Pillow's Image.open(...).convert("RGB"): 16-bit gray is clipped, 16-bit colour
/// keeps its high byte, CMYK is converted as Pillow does, gamma and ICC profiles are ignored.
/// `name` appears in messages only. Thread-safe.
/// Throws Error: image_empty, image_unknown, image_truncated, image_corrupt, image_unsupported,
/// image_too_large.
Image decode_image(std::span<const std::byte> bytes, std::string_view name,
                   const DecodeOptions& options = {});

/// Throws Error(invalid_argument) unless there is a pixel, and as many as height and width say. `what` begins
/// the message.
void require_pixels(const Image& image, std::string_view what);

/// Turns and mirrors a picture by its orientation, which is 1 afterwards. Throws Error(internal),
/// std::bad_alloc.
void turn_upright(Image& image);

}  // namespace vit::io
