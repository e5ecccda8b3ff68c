// Which format a picture has, told by its first bytes and never by its name. Internal: not installed.
#pragma once

#include "io/image_formats.hpp"

namespace vit::io::internal {

enum class ImageFormat { png, jpeg, gif, webp, bmp, tiff, pnm };

/// Throws image_empty, image_unknown (saying what the bytes look like), image_unsupported (naming a format
/// that Vitrine recognises but does not decode), or image_truncated (only a part of a signature).
ImageFormat sniff_format(const EncodedImage& encoded);

}  // namespace vit::io::internal
