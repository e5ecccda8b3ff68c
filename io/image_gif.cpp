// The first frame of a GIF on its canvas. giflib reads the container and the variable-length codes; what the
// codes mean is worked out here, because giflib lets codes pass that mean nothing.
#include <fmt/format.h>
#include <gif_lib.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "io/image_formats.hpp"

namespace vit::io::internal {
namespace {

constexpr std::uint8_t extension_introducer = 0x21, image_introducer = 0x2c, trailer = 0x3b;

struct Cursor {
  Bytes bytes;
  std::size_t position = 0;
};

int read_bytes(GifFileType* gif, GifByteType* to, int size) {
  auto* cursor = static_cast<Cursor*>(gif->UserData);
  const std::size_t left = cursor->bytes.size() - cursor->position;
  const std::size_t count = std::min(static_cast<std::size_t>(std::max(size, 0)), left);
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
       fmt::format("GIF data cannot be decoded: {}", reason != nullptr ? reason : "no reason given"));
}

/// Stray bytes between blocks, often zeros, mean nothing to Pillow.
void skip_stray_bytes(Cursor& cursor) {
  const auto is_block = [](std::uint8_t c) {
    return c == extension_introducer || c == image_introducer || c == trailer;
  };
  while (cursor.position < cursor.bytes.size() && !is_block(cursor.bytes[cursor.position])) ++cursor.position;
}

/// Reads extensions up to the first frame's header. Returns its transparent palette index, or -1.
int seek_first_frame(GifFileType* gif, const EncodedImage& encoded, Cursor& cursor) {
  int transparent = -1;
  for (;;) {
    skip_stray_bytes(cursor);
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

/// The frame's data and the rest of the file must end in whole blocks: a picture that is cut off later is
/// still a broken download. Begins at a sub-block of the first frame, and goes on without giflib, which would
/// keep every frame's palette. Only the end of the data is an error here.
void check_rest(const EncodedImage& encoded, std::size_t at) {
  const Bytes bytes = encoded.bytes;
  const auto skip = [&](std::size_t count) {
    if (count > bytes.size() - at) fail_truncated(encoded, "GIF", "a frame is not complete");
    at += count;
  };
  const auto skip_blocks = [&] {
    for (std::size_t length = 1; length != 0;) {
      skip(1);
      length = bytes[at - 1];
      skip(length);
    }
  };
  skip_blocks();
  while (at < bytes.size() && (bytes[at] == extension_introducer || bytes[at] == image_introducer)) {
    if (bytes[at] == extension_introducer) {
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

/// Whether there is no table, or one that only says "index i is gray i", which is none to Pillow.
bool is_gray_ramp(const ColorMapObject* map) {
  for (int i = 0; map != nullptr && i < map->ColorCount; ++i) {
    const GifColorType& colour = map->Colors[i];
    if (colour.Red != i || colour.Green != i || colour.Blue != i) return false;
  }
  return true;
}

/// The colours of the frame's table, or that of the whole file; black where it gives none. Where the frame's
/// is a gray ramp, Pillow (13.0.0) lays the file's table over it.
std::array<Rgb, 256> make_palette(const GifFileType& gif) {
  const ColorMapObject* map = gif.Image.ColorMap;
  if (is_gray_ramp(map)) map = gif.SColorMap;
  const bool is_gray = is_gray_ramp(map);
  std::array<Rgb, 256> palette{};
  for (int i = 0; i < 256; ++i) {
    Rgb& colour = palette[static_cast<std::size_t>(i)];
    if (is_gray) {
      colour.fill(static_cast<std::uint8_t>(i));
    } else if (i < map->ColorCount) {
      colour = {map->Colors[i].Red, map->Colors[i].Green, map->Colors[i].Blue};
    }
  }
  return palette;
}

/// LZW codes to palette indices, row after row.
class IndexReader {
 public:
  IndexReader(GifFileType* gif, const EncodedImage& encoded, const Cursor& cursor)
      : gif_(gif), encoded_(encoded), cursor_(cursor) {
    // DGifGetImageDesc has just read the code size, the byte before the first block.
    const int code_size = cursor.bytes[cursor.position - 1];
    if (code_size > 8)
      fail(ErrorCode::image_corrupt, encoded, fmt::format("GIF with codes of {} bits", code_size));
    clear_ = 1 << code_size;
    next_ = clear_ + 2;
  }

  void read_row(std::vector<std::uint8_t>& row) {
    for (std::uint8_t& index : row) {
      while (pending_.empty()) read_code();
      index = pending_.back();
      pending_.pop_back();
    }
  }

 private:
  static constexpr int max_codes = 4096;

  void read_code() {
    int code = 0;
    if (DGifGetLZCodes(gif_, &code) != GIF_OK) fail_gif(encoded_, cursor_, gif_->Error);
    if (code < 0) fail_truncated(encoded_, "GIF", "there are fewer pixels than the header says");
    if (code == clear_) {
      next_ = clear_ + 2;
      previous_ = -1;
    } else if (previous_ < 0 ? code < clear_ : code <= next_ && code < max_codes) {
      expand(code);
    } else {
      fail(ErrorCode::image_corrupt, encoded_, fmt::format("GIF data with an impossible code, {}", code));
    }
  }

  /// Puts the code's string into pending_, last index first, and learns the previous one plus its first
  /// index.
  void expand(int code) {
    int rest = code;
    if (code == next_) {  // the string that is just being learnt: the previous one and its own first index
      pending_.push_back(first_);
      rest = previous_;
    }
    for (; rest >= clear_; rest = prefix_[static_cast<std::size_t>(rest)])
      pending_.push_back(last_[static_cast<std::size_t>(rest)]);
    first_ = static_cast<std::uint8_t>(rest);
    pending_.push_back(first_);
    if (previous_ >= 0 && next_ < max_codes) {
      last_[static_cast<std::size_t>(next_)] = first_;
      prefix_[static_cast<std::size_t>(next_)] = previous_;
      ++next_;
    }
    previous_ = code;
  }

  GifFileType* gif_;
  const EncodedImage& encoded_;
  const Cursor& cursor_;
  int clear_ = 0;
  int next_ = 0;                                ///< the code that will be learnt next
  int previous_ = -1;                           ///< none after a clear code
  std::uint8_t first_ = 0;                      ///< index of the previous string
  std::array<int, max_codes> prefix_{};         ///< the code of a string without its last index
  std::array<std::uint8_t, max_codes> last_{};  ///< its last index
  std::vector<std::uint8_t> pending_;           ///< indices not yet handed out, in reverse
};

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
  const auto palette = make_palette(*gif);

  DecodedImage decoded;
  decoded.image = allocate_image(encoded, width, height);
  const Rgb background = palette[static_cast<std::size_t>(std::max(transparent, 0))];
  for (std::size_t i = 0; i < decoded.image.pixels.size(); i += 3)
    std::copy(background.begin(), background.end(), &decoded.image.pixels[i]);

  IndexReader indices(gif.get(), encoded, cursor);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(frame.Width));
  for (const int y : row_order(frame.Height, frame.Interlace)) {
    indices.read_row(row);
    const auto first = static_cast<std::size_t>((std::int64_t{frame.Top} + y) * width + frame.Left);
    std::uint8_t* rgb = &decoded.image.pixels[3 * first];
    for (const std::uint8_t index : row) rgb = std::copy(palette[index].begin(), palette[index].end(), rgb);
  }
  check_rest(encoded, cursor.position);
  if (transparent >= 0) decoded.colour_key = palette[static_cast<std::size_t>(transparent)];
  return decoded;
}

}  // namespace vit::io::internal
