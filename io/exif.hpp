// The one thing that a classifier needs from a picture's metadata: which way up it is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace vit::io {

/// The orientation (1 to 8, TIFF 6.0 tag 274) in an EXIF block: a TIFF header and directory, with or without
/// the leading "Exif\0\0". Nothing if the block has no such tag or is damaged; 1 (upright) for other values.
std::optional<int> exif_orientation(std::span<const std::uint8_t> block);

/// The tiff:Orientation of an XMP packet, which counts where EXIF has none.
std::optional<int> xmp_orientation(std::string_view packet);

/// Both together, as Pillow's exif_transpose weighs them; 1 (upright) if neither says anything.
int orientation_of(std::span<const std::uint8_t> exif, std::string_view xmp);

}  // namespace vit::io
