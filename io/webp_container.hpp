// What is in a WebP file besides its pixels. Internal: not installed.
#pragma once

#include <memory>

#include "io/image_formats.hpp"

struct WebPDemuxer;  // libwebpdemux

namespace vit::io::internal {

struct DeleteWebpDemuxer {
  void operator()(WebPDemuxer* demuxer) const;
};
using WebpContainer = std::unique_ptr<WebPDemuxer, DeleteWebpDemuxer>;

/// Pillow refuses files that are not complete, and so do we. Throws Error: image_truncated, image_corrupt.
WebpContainer open_webp(const EncodedImage& encoded);

/// EXIF's orientation, 1 to 8.
int webp_orientation(const WebPDemuxer* container);

}  // namespace vit::io::internal
