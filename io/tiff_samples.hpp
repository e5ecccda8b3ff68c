// What the samples of a TIFF file mean: layouts that are read, and their way to RGB. Internal: not installed.
#pragma once

#include <vector>

#include "io/image_formats.hpp"

namespace vit::io::internal {

struct TiffLayout {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint16_t bits = 1;           ///< of a sample
  std::uint16_t samples = 1;        ///< of a pixel
  std::uint16_t sample_format = 1;  ///< SAMPLEFORMAT_…
  std::uint16_t compression = 1;    ///< COMPRESSION_…
  std::uint16_t photometric = 0;    ///< PHOTOMETRIC_…
  std::uint16_t extra_samples = 0;  ///< of the samples, those that are no colour
  bool premultiplied = false;       ///< the first extra sample is alpha that the colours are multiplied with
  bool separate = false;            ///< one plane per sample
  bool subsampled = false;          ///< chroma, of YCbCr
  bool big_endian = false;          ///< the file
};

/// Throws image_unsupported for layouts that Pillow does not read either.
void check_tiff_layout(const EncodedImage& encoded, const TiffLayout& layout);

/// Unpacks `count` samples, in this machine's byte order, to 8 bits: palette indices as they are, gray levels
/// of less than 8 bits scaled, wide gray clipped to 255, wide colours to their high byte. to[0], to[step], …
void tiff_samples_to_8_bit(const TiffLayout& layout, const std::uint8_t* from, std::size_t count,
                           std::uint8_t* to, std::size_t step);

/// `count` pixels of layout.samples 8-bit samples to RGB.
void tiff_samples_to_rgb(const TiffLayout& layout, const std::vector<Rgb>& palette, const std::uint8_t* from,
                         std::size_t count, std::uint8_t* rgb);

}  // namespace vit::io::internal
