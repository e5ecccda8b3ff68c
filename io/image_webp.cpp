// WebP through libwebp: the first frame on its canvas, without its alpha.
#include <fmt/format.h>
#include <webp/decode.h>
#include <webp/demux.h>

#include <memory>

#include "io/exif.hpp"
#include "io/image_formats.hpp"
#include "io/webp_container.hpp"

namespace vit::io::internal {
namespace {

/// The bytes of the first chunk of that name, or none.
Bytes read_chunk(const WebPDemuxer* demuxer, const char* four_letters) {
  WebPChunkIterator chunk{};
  Bytes bytes;
  if (WebPDemuxGetChunk(demuxer, four_letters, 1, &chunk) != 0) bytes = {chunk.chunk.bytes, chunk.chunk.size};
  WebPDemuxReleaseChunkIterator(&chunk);
  return bytes;  // they lie in the file, which outlives the iterator
}

void decode_frame(const EncodedImage& encoded, const WebPIterator& frame, Image& image) {
  const auto stride = static_cast<std::size_t>(image.width) * 3;
  const std::size_t offset =
      static_cast<std::size_t>(frame.y_offset) * stride + static_cast<std::size_t>(frame.x_offset) * 3;
  const bool inside = frame.x_offset >= 0 && frame.y_offset >= 0 &&
                      frame.x_offset + frame.width <= image.width &&
                      frame.y_offset + frame.height <= image.height;
  WebPDecoderConfig config;
  if (!inside || WebPInitDecoderConfig(&config) == 0)
    fail(ErrorCode::image_corrupt, encoded, "the WebP frame lies outside its canvas");
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = image.pixels.data() + offset;
  config.output.u.RGBA.stride = static_cast<int>(stride);
  config.output.u.RGBA.size = image.pixels.size() - offset;
  const VP8StatusCode status = WebPDecode(frame.fragment.bytes, frame.fragment.size, &config);
  if (status == VP8_STATUS_OUT_OF_MEMORY) throw std::bad_alloc();
  if (status == VP8_STATUS_NOT_ENOUGH_DATA || status == VP8_STATUS_SUSPENDED) fail_truncated(encoded, "WebP");
  if (status != VP8_STATUS_OK)
    fail(ErrorCode::image_corrupt, encoded,
         fmt::format("WebP data cannot be decoded (libwebp status {})", static_cast<int>(status)));
}

}  // namespace

void DeleteWebpDemuxer::operator()(WebPDemuxer* demuxer) const {
  WebPDemuxDelete(demuxer);
}

WebpContainer open_webp(const EncodedImage& encoded) {
  const WebPData data{encoded.bytes.data(), encoded.bytes.size()};
  WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
  WebpContainer demuxer(WebPDemuxPartial(&data, &state));
  if (state == WEBP_DEMUX_PARSING_HEADER || state == WEBP_DEMUX_PARSED_HEADER)
    fail_truncated(encoded, "WebP");
  if (!demuxer || state != WEBP_DEMUX_DONE)
    fail(ErrorCode::image_corrupt, encoded, "the WebP container cannot be parsed");
  return demuxer;
}

int webp_orientation(const WebPDemuxer* container) {
  const Bytes xmp = read_chunk(container, "XMP ");
  return orientation_of(read_chunk(container, "EXIF"),
                        {reinterpret_cast<const char*>(xmp.data()), xmp.size()});
}

DecodedImage decode_webp(const EncodedImage& encoded) {
  const WebpContainer demuxer = open_webp(encoded);
  DecodedImage decoded;
  decoded.image = allocate_image(encoded, WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH),
                                 WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT));
  WebPIterator frame{};
  const std::unique_ptr<WebPIterator, void (*)(WebPIterator*)> release(&frame, &WebPDemuxReleaseIterator);
  if (WebPDemuxGetFrame(demuxer.get(), 1, &frame) == 0 || frame.complete == 0)
    fail(ErrorCode::image_corrupt, encoded, "WebP without a frame");
  decode_frame(encoded, frame, decoded.image);

  decoded.image.orientation = webp_orientation(demuxer.get());
  return decoded;
}

}  // namespace vit::io::internal
