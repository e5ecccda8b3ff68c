// The first frame of a GIF on its canvas, LZW by giflib.
#include <fmt/format.h>
#include <gif_lib.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "io/byte_order.hpp"
#include "io/image_formats.hpp"

namespace vit::io::internal {
namespace {

struct Cursor {
  Bytes bytes;
  std::size_t position = 0;
};

int read_bytes(GifFileType* gif, GifByteType* to, int size) {
  auto* cursor = static_cast<Cursor*>(gif->UserData);
  const std::size_t count =
      std::min(static_cast<std::size_t>(std::max(size, 0)), cursor->bytes.size() - cursor->position);
  if (count > 0) std::memcpy(to, cursor->bytes.data() + cursor->position, count);
  cursor->position += count;
  return static_cast<int>(count);
}

struct CloseGif {
  void operator()(GifFileType* gif) const { DGifCloseFile(gif, nullptr); }
};
using GifReader = std::unique_ptr<GifFileType, CloseGif>;

[[noreturn]] void fail_gif(const EncodedImage& encoded, const Cursor& cursor, int error) {
  if (cursor.position == cursor.bytes.size())
    fail_truncated(encoded, "GIF", "the first frame is not complete");
  const char* reason = GifErrorString(error);
  fail(ErrorCode::image_corrupt, encoded,
       fmt::format("GIF data cannot be decoded: {}", reason != nullptr ? reason : "unknown block"));
}

/// Reads extensions up to the first frame's header. Returns its transparent palette index, or -1.
int seek_first_frame(GifFileType* gif, const EncodedImage& encoded, const Cursor& cursor) {
  int transparent = -1;
  for (;;) {
    GifRecordType type = UNDEFINED_RECORD_TYPE;
    if (DGifGetRecordType(gif, &type) != GIF_OK) fail_gif(encoded, cursor, gif->Error);
    if (type == TERMINATE_RECORD_TYPE) fail(ErrorCode::image_corrupt, encoded, "GIF without a frame");
    if (type == IMAGE_DESC_RECORD_TYPE) {
      if (DGifGetImageDesc(gif) != GIF_OK) fail_gif(encoded, cursor, gif->Error);
      return transparent;
    }
    int code = 0;
    GifByteType* block = nullptr;  // its first byte is its length
    if (DGifGetExtension(gif, &code, &block) != GIF_OK) fail_gif(encoded, cursor, gif->Error);
    const bool is_control = code == GRAPHICS_EXT_FUNC_CODE && block != nullptr && block[0] >= 4;
    if (is_control && (block[1] & 1) != 0) transparent = block[4];
    while (block != nullptr)
      if (DGifGetExtensionNext(gif, &block) != GIF_OK) fail_gif(encoded, cursor, gif->Error);
  }
}

/// The file must go on in whole blocks: a picture cut off later is still a broken download.
/// Walks without giflib, which would keep every frame's palette. Only the end of the data is an error here.
void check_rest(const EncodedImage& encoded, std::size_t at) {
  const Bytes bytes = encoded.bytes;
  const auto skip = [&](std::size_t count) {
    if (count > bytes.size() - at) fail_truncated(encoded, "GIF", "a later frame is not complete");
    at += count;
  };
  const auto skip_blocks = [&] {
    for (std::size_t length = 1; length != 0;) {
      skip(1);
      length = bytes[at - 1];
      skip(length);
    }
  };
  constexpr std::uint8_t extension = 0x21, image = 0x2c;
  while (at < bytes.size() && (bytes[at] == extension || bytes[at] == image)) {
    if (bytes[at] == extension) {
      skip(2);
    } else {
      skip(10);
      const std::uint8_t flags = bytes[at - 1];
      if ((flags & 0x80) != 0) skip(std::size_t{6} << (flags & 7));
      skip(1);
    }
    skip_blocks();
  }
}

/// Pillow's colour table: black where the file gives no colour; gray levels where there is no table, or where
/// it says nothing but "index i is gray i".
std::array<Rgb, 256> make_palette(const ColorMapObject* map) {
  std::array<Rgb, 256> palette{};
  bool is_ramp = true;
  for (int i = 0; map != nullptr && i < map->ColorCount && i < 256; ++i) {
    const GifColorType& colour = map->Colors[i];
    palette[static_cast<std::size_t>(i)] = {colour.Red, colour.Green, colour.Blue};
    is_ramp = is_ramp && colour.Red == i && colour.Green == i && colour.Blue == i;
  }
  if (is_ramp)
    for (std::size_t i = 0; i < 256; ++i) palette[i].fill(static_cast<std::uint8_t>(i));
  return palette;
}

/// The y of each row in the order in which the file has them.
std::vector<int> row_order(int height, bool interlaced) {
  std::vector<int> rows;
  rows.reserve(static_cast<std::size_t>(height));
  constexpr std::array starts{0, 4, 2, 1}, steps{8, 8, 4, 2};
  for (std::size_t pass = 0; interlaced && pass < 4; ++pass)
    for (int y = starts[pass]; y < height; y += steps[pass]) rows.push_back(y);
  for (int y = 0; !interlaced && y < height; ++y) rows.push_back(y);
  return rows;
}

}  // namespace

DecodedImage decode_gif(const EncodedImage& encoded) {
  Cursor cursor{encoded.bytes};
  int error = 0;
  const GifReader gif(DGifOpen(&cursor, &read_bytes, &error));
  if (!gif) fail_gif(encoded, cursor, error);
  const int transparent = seek_first_frame(gif.get(), encoded, cursor);

  // Like Pillow: a frame that reaches over the canvas enlarges it.
  const GifImageDesc& frame = gif->Image;
  if (frame.Width <= 0 || frame.Height <= 0)
    fail(ErrorCode::image_corrupt, encoded, "GIF frame without pixels");
  const int width = std::max(gif->SWidth, frame.Left + frame.Width);
  const int height = std::max(gif->SHeight, frame.Top + frame.Height);
  const auto palette = make_palette(frame.ColorMap != nullptr ? frame.ColorMap : gif->SColorMap);

  DecodedImage decoded;
  decoded.image = allocate_image(encoded, width, height);
  const Rgb background = palette[static_cast<std::size_t>(std::max(transparent, 0))];
  for (std::size_t i = 0; i < decoded.image.pixels.size(); i += 3)
    std::copy(background.begin(), background.end(), &decoded.image.pixels[i]);

  std::vector<GifPixelType> row(static_cast<std::size_t>(frame.Width));
  for (const int y : row_order(frame.Height, frame.Interlace)) {
    if (DGifGetLine(gif.get(), row.data(), frame.Width) != GIF_OK) fail_gif(encoded, cursor, gif->Error);
    const std::size_t first = static_cast<std::size_t>(frame.Top + y) * static_cast<std::size_t>(width) +
                              static_cast<std::size_t>(frame.Left);
    std::uint8_t* rgb = &decoded.image.pixels[3 * first];
    for (const GifPixelType index : row) rgb = std::copy(palette[index].begin(), palette[index].end(), rgb);
  }
  check_rest(encoded, cursor.position);
  if (transparent >= 0) decoded.colour_key = palette[static_cast<std::size_t>(transparent)];
  return decoded;
}

}  // namespace vit::io::internal
