// GIF frames laid over each other. What a file leaves open, and what it says wrongly, is done as in Pillow
// (GifImagePlugin, 13.0.0).
#include <algorithm>
#include <optional>
#include <vector>

#include "io/animation.hpp"
#include "io/gif_frames.hpp"

namespace vit::io::internal {
namespace {

/// Pixels to be put back before the next frame is drawn.
struct Restored {
  int left = 0;
  int top = 0;
  Image pixels;
};

class GifAnimation : public Animation {
 public:
  explicit GifAnimation(const EncodedImage& encoded) : encoded_(encoded), frames_(encoded) {}

  bool advance() override {
    std::optional<GifFrame> frame = frames_.next();
    if (!frame) return false;
    seconds_ = next_seconds_;
    next_seconds_ += frame->seconds;
    restore();
    const Palette palette = frames_.palette();
    if (frame->disposal != Disposal::unspecified) disposal_ = frame->disposal;  // else that of the one before
    if (is_first_) begin(*frame, palette);
    check_size(encoded_, std::max<std::int64_t>(canvas_.width, frame->left + frame->width),
               std::max<std::int64_t>(canvas_.height, frame->top + frame->height));
    prepare_disposal(*frame, palette);
    if (!is_first_) grow(*frame, palette);
    frames_.read_pixels(*frame);
    draw_frame(*frame, palette, is_first_ ? Transparent::drawn : Transparent::skipped, canvas_);
    is_first_ = false;
    return true;
  }

  const Image& picture() const override { return canvas_; }
  double seconds() const override { return seconds_; }

 private:
  void begin(const GifFrame& frame, const Palette& palette) {
    canvas_ = allocate_image(encoded_, std::max(frames_.width(), frame.left + frame.width),
                             std::max(frames_.height(), frame.top + frame.height));
    fill_canvas(canvas_, palette[frame.transparent.value_or(0)]);
  }

  void restore() {
    if (!restored_) return;
    const Image& from = restored_->pixels;
    for (std::int64_t y = 0; y < from.height; ++y) {
      std::copy_n(from.pixels.data() + 3 * y * from.width, 3 * from.width,
                  canvas_.pixels.data() + 3 * ((restored_->top + y) * canvas_.width + restored_->left));
    }
    restored_.reset();
  }

  /// Before the frame is drawn, and before it enlarges the canvas.
  void prepare_disposal(const GifFrame& frame, const Palette& palette) {
    if (disposal_ != Disposal::background && disposal_ != Disposal::previous) return;
    const bool has_previous = disposal_ == Disposal::previous && !is_first_;
    if (disposal_ == Disposal::previous && is_first_ && !frame.transparent) return;
    Image pixels = allocate_image(encoded_, frame.width, frame.height);
    if (has_previous) {
      copy_canvas(frame, pixels);
    } else {
      fill_canvas(pixels, cleared(frame, palette));
    }
    restored_ = {frame.left, frame.top, std::move(pixels)};
  }

  /// What lies outside of the canvas is black.
  void copy_canvas(const GifFrame& frame, Image& pixels) const {
    const std::int64_t width = std::clamp<std::int64_t>(canvas_.width - frame.left, 0, frame.width);
    const std::int64_t height = std::clamp<std::int64_t>(canvas_.height - frame.top, 0, frame.height);
    for (std::int64_t y = 0; y < height; ++y) {
      std::copy_n(canvas_.pixels.data() + 3 * ((frame.top + y) * canvas_.width + frame.left), 3 * width,
                  pixels.pixels.data() + 3 * y * pixels.width);
    }
  }

  /// The colour of an area that is disposed of: the transparent one, if there is one, else the background.
  Rgb cleared(const GifFrame& frame, const Palette& palette) const {
    const std::uint8_t index = frame.transparent ? *frame.transparent : frames_.background().value_or(0);
    return palette[!is_first_ && index >= frames_.palette_size() ? 0 : index];
  }

  /// A frame that reaches over the canvas enlarges it.
  void grow(const GifFrame& frame, const Palette& palette) {
    const std::int64_t width = std::max<std::int64_t>(canvas_.width, frame.left + frame.width);
    const std::int64_t height = std::max<std::int64_t>(canvas_.height, frame.top + frame.height);
    if (width == canvas_.width && height == canvas_.height) return;
    Image larger = allocate_image(encoded_, width, height);
    if (!frame.transparent) fill_canvas(larger, palette[0]);
    for (std::int64_t y = 0; y < canvas_.height; ++y) {
      std::copy_n(canvas_.pixels.data() + 3 * y * canvas_.width, 3 * canvas_.width,
                  larger.pixels.data() + 3 * y * width);
    }
    canvas_ = std::move(larger);
  }

  EncodedImage encoded_;
  GifFrames frames_;
  Image canvas_;
  bool is_first_ = true;
  Disposal disposal_ = Disposal::unspecified;
  std::optional<Restored> restored_;
  double seconds_ = 0;
  double next_seconds_ = 0;
};

}  // namespace

std::unique_ptr<Animation> animate_gif(const EncodedImage& encoded) {
  return std::make_unique<GifAnimation>(encoded);
}

std::int64_t count_gif_frames(const EncodedImage& encoded) {
  GifFrames frames(encoded);
  frames.next();
  return 1 + frames.count_rest();
}

}  // namespace vit::io::internal
