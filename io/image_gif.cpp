// The first frame of a GIF on its canvas.
#include <algorithm>

#include "io/gif_frames.hpp"
#include "io/image_formats.hpp"

namespace vit::io::internal {

DecodedImage decode_gif(const EncodedImage& encoded) {
  GifFrames frames(encoded);
  GifFrame frame = *frames.next();  // a file without one is an error
  const Palette palette = frames.palette();

  // Like Pillow: a frame that reaches over the canvas enlarges it.
  const int width = std::max(frames.width(), frame.left + frame.width);
  const int height = std::max(frames.height(), frame.top + frame.height);
  DecodedImage decoded;
  decoded.image = allocate_image(encoded, width, height);
  fill_canvas(decoded.image, palette[frame.transparent.value_or(0)]);

  frames.read_pixels(frame);
  draw_frame(frame, palette, Transparent::drawn, decoded.image);
  frames.check_rest();
  if (frame.transparent) decoded.colour_key = palette[*frame.transparent];
  return decoded;
}

}  // namespace vit::io::internal
