// A GIF's frames, one after the other: where they lie, how they are shown, and their palette indices.
// Internal: not installed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "io/image_formats.hpp"

namespace vit::io::internal {

using Palette = std::array<Rgb, 256>;

/// What becomes of a frame's area before the next one is drawn.
enum class Disposal { unspecified = 0, keep = 1, background = 2, previous = 3 };

struct GifFrame {
  int left = 0;
  int top = 0;
  int width = 0;
  int height = 0;
  std::optional<std::uint8_t> transparent;  ///< palette index
  double seconds = 0;                       ///< that it is shown
  Disposal disposal = Disposal::unspecified;
  std::vector<std::uint8_t> indices;  ///< [height, width]
};

/// Reads the container and decodes frames. giflib does the former and reads the variable-length codes; what
/// the codes mean is worked out here, because giflib lets codes pass that mean nothing.
class GifFrames {
 public:
  /// `encoded` outlives it. Throws Error: image_truncated, image_corrupt.
  explicit GifFrames(const EncodedImage& encoded);
  ~GifFrames();

  int width() const;
  int height() const;
  /// The index that the header calls the background, of the whole file's palette.
  std::optional<std::uint8_t> background() const;

  /// The next one without its pixels, or nothing at the end of the file. Throws Error: image_truncated,
  /// image_corrupt.
  std::optional<GifFrame> next();
  /// Those of the frame that next() gave, at most once. Throws as next().
  void read_pixels(GifFrame& frame);
  /// The frame's palette, black where it gives none: its own, or the whole file's, or gray. In the first
  /// frame Pillow (13.0.0) lays the file's over one that is a gray ramp.
  Palette palette() const;
  /// How many colours that has.
  int palette_size() const;

  /// Throws image_truncated if one of the frames behind this one is cut off: so is a picture that is a broken
  /// download. Without giflib, which would keep every frame's palette.
  void check_rest() const;
  /// How many frames follow this one, as far as the file is whole.
  std::int64_t count_rest() const;

 private:
  struct Reader;
  std::unique_ptr<Reader> reader_;
};

/// Makes all of a canvas one colour.
void fill_canvas(Image& canvas, const Rgb& colour);

enum class Transparent { drawn, skipped };

/// Draws a frame, whose pixels were read, where it lies on a canvas that it does not reach over.
void draw_frame(const GifFrame& frame, const Palette& palette, Transparent transparent, Image& canvas);

}  // namespace vit::io::internal
