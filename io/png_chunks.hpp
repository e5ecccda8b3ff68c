// The chunks of a PNG file, checked and sorted. Internal: not installed.
#pragma once

#include <string>
#include <vector>

#include "io/image_formats.hpp"

namespace vit::io::internal {

/// What decode_png needs of a PNG file. The spans point into the file.
struct PngChunks {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  int bit_depth = 0;
  int colour_type = 0;
  Bytes header;                   ///< the IHDR chunk, whole
  std::vector<Bytes> image_data;  ///< the IDAT chunks, whole: length, type, data, CRC
  Bytes palette;                  ///< PLTE's data
  Bytes transparency;             ///< tRNS's data
  Bytes exif;                     ///< eXIf's data
  std::string raw_profile;  ///< text "Raw profile type exif": EXIF in hexadecimal, as ImageMagick writes it
  std::string xmp;          ///< text "XML:com.adobe.xmp"
};

/// Walks over all chunks up to IEND and verifies every CRC. Throws image_truncated or image_corrupt.
PngChunks read_png_chunks(const EncodedImage& encoded);

}  // namespace vit::io::internal
