// GIF frames laid over each other. What a file leaves open, and what it says wrongly, is done as in Pillow
// (GifImagePlugin, 13.0.0).
#include <algorithm>
#include <optional>
#include <vector>

#include "io/animation.hpp"
#include "io/gif_frames.hpp"

namespace vit::io::internal {
namespace {

/// A pixel of a picture.
struct Corner {
  std::int64_t left = 0;
  std::int64_t top = 0;
};

/// Copies what lies right of and below `from_corner` to the right of and below `to_corner`, as far as both
/// pictures reach.
void copy_overlap(const Image& from, Corner from_corner, Image& to, Corner to_corner) {
  const std::int64_t width = std::min(from.width - from_corner.left, to.width - to_corner.left);
  const std::int64_t height = std::min(from.height - from_corner.top, to.height - to_corner.top);
  if (width <= 0) return;
  for (std::int64_t y = 0; y < height; ++y) {
    std::copy_n(from.pixels.data() + 3 * ((from_corner.top + y) * from.width + from_corner.left), 3 * width,
                to.pixels.data() + 3 * ((to_corner.top + y) * to.width + to_corner.left));
  }
}

/// Pixels to be put back before the next frame is drawn.
struct Restored {
  Corner corner;
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
    if (restored_) copy_overlap(restored_->pixels, {}, canvas_, restored_->corner);
    restored_.reset();
  }

  /// Before the frame is drawn, and before it enlarges the canvas.
  void prepare_disposal(const GifFrame& frame, const Palette& palette) {
    if (disposal_ != Disposal::background && disposal_ != Disposal::previous) return;
    const bool has_previous = disposal_ == Disposal::previous && !is_first_;
    if (disposal_ == Disposal::previous && is_first_ && !frame.transparent) return;
    Image pixels = allocate_image(encoded_, frame.width, frame.height);
    if (has_previous) {
      copy_overlap(canvas_, {frame.left, frame.top}, pixels, {});  // what lies outside of it is black
    } else {
      fill_canvas(pixels, cleared(frame, palette));
    }
    restored_ = {{frame.left, frame.top}, std::move(pixels)};
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
    copy_overlap(canvas_, {}, larger, {});
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
