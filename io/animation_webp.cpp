// WebP animations through libwebp's own compositor, as in Pillow.
#include <webp/demux.h>

#include <algorithm>

#include "io/animation.hpp"
#include "io/webp_container.hpp"

namespace vit::io::internal {
namespace {

struct DeleteDecoder {
  void operator()(WebPAnimDecoder* decoder) const { WebPAnimDecoderDelete(decoder); }
};

class WebpAnimation : public Animation {
 public:
  explicit WebpAnimation(const EncodedImage& encoded) : encoded_(encoded) {
    const WebpContainer container = open_webp(encoded);
    // Before the decoder takes memory for it.
    picture_ = allocate_image(encoded, WebPDemuxGetI(container.get(), WEBP_FF_CANVAS_WIDTH),
                              WebPDemuxGetI(container.get(), WEBP_FF_CANVAS_HEIGHT));
    picture_.orientation = webp_orientation(container.get());
    const WebPData data{encoded.bytes.data(), encoded.bytes.size()};
    WebPAnimDecoderOptions options;
    if (WebPAnimDecoderOptionsInit(&options) == 0)
      throw Error(ErrorCode::internal, "libwebp is another version than this program was built for");
    options.color_mode = MODE_RGBA;
    decoder_.reset(WebPAnimDecoderNew(&data, &options));
    if (!decoder_) fail(ErrorCode::image_corrupt, encoded, "the WebP animation cannot be decoded");
  }

  bool advance() override {
    if (WebPAnimDecoderHasMoreFrames(decoder_.get()) == 0) return false;
    std::uint8_t* rgba = nullptr;
    int end = 0;  // of the frame, in milliseconds
    if (WebPAnimDecoderGetNext(decoder_.get(), &rgba, &end) == 0)
      fail(ErrorCode::image_corrupt, encoded_, "a frame of the WebP animation cannot be decoded");
    seconds_ = next_seconds_;
    next_seconds_ = end / 1000.0;
    for (std::size_t i = 0; i < picture_.pixels.size(); i += 3, rgba += 4)
      std::copy_n(rgba, 3, &picture_.pixels[i]);
    return true;
  }

  const Image& picture() const override { return picture_; }
  double seconds() const override { return seconds_; }

 private:
  EncodedImage encoded_;
  Image picture_;
  std::unique_ptr<WebPAnimDecoder, DeleteDecoder> decoder_;
  double seconds_ = 0;
  double next_seconds_ = 0;
};

}  // namespace

std::unique_ptr<Animation> animate_webp(const EncodedImage& encoded) {
  return std::make_unique<WebpAnimation>(encoded);
}

std::int64_t count_webp_frames(const EncodedImage& encoded) {
  return WebPDemuxGetI(open_webp(encoded).get(), WEBP_FF_FRAME_COUNT);
}

}  // namespace vit::io::internal
