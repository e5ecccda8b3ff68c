#include "io/gif_frames.hpp"

#include <fmt/format.h>
#include <gif_lib.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

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
using GifFile = std::unique_ptr<GifFileType, CloseGif>;

[[noreturn]] void fail_gif(const EncodedImage& encoded, const Cursor& cursor, int error) {
  if (cursor.position == cursor.bytes.size()) fail_truncated(encoded, "GIF", "a frame is not complete");
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

/// Goes over blocks without looking into them. False where the data ends too early.
class BlockWalk {
 public:
  explicit BlockWalk(const Cursor& cursor) : bytes_(cursor.bytes), at_(cursor.position) {}

  std::size_t position() const { return at_; }
  /// The rest of a frame's or an extension's data, from the length of a sub-block on.
  bool skip_blocks() {
    for (std::size_t length = 1; length != 0;) {
      if (!skip(1)) return false;
      length = bytes_[at_ - 1];
      if (!skip(length)) return false;
    }
    return true;
  }

  enum class Found { end, frame, cut_off };
  /// Up to behind the header of the next frame.
  Found find_frame() {
    while (at_ < bytes_.size() && bytes_[at_] == extension_introducer)
      if (!skip(2) || !skip_blocks()) return Found::cut_off;
    if (at_ == bytes_.size() || bytes_[at_] != image_introducer) return Found::end;
    if (!skip(10)) return Found::cut_off;
    const std::uint8_t flags = bytes_[at_ - 1];
    if ((flags & 0x80) != 0 && !skip(std::size_t{6} << (flags & 7))) return Found::cut_off;
    return skip(1) ? Found::frame : Found::cut_off;
  }

 private:
  bool skip(std::size_t count) {
    if (count > bytes_.size() - at_) return false;
    at_ += count;
    return true;
  }

  Bytes bytes_;
  std::size_t at_;
};

/// Whether there is no table, or one that only says "index i is gray i", which is none to Pillow.
bool is_gray_ramp(const ColorMapObject* map) {
  for (int i = 0; map != nullptr && i < map->ColorCount; ++i) {
    const GifColorType& colour = map->Colors[i];
    if (colour.Red != i || colour.Green != i || colour.Blue != i) return false;
  }
  return true;
}

Palette to_palette(const ColorMapObject* map) {
  const bool is_gray = is_gray_ramp(map);
  Palette palette{};
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

  void read_row(std::span<std::uint8_t> row) {
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

struct GifFrames::Reader {
  EncodedImage encoded;
  Cursor cursor;
  GifFile gif;
  int frames = 0;  // that next() gave
  bool pixels_pending = false;

  explicit Reader(const EncodedImage& from) : encoded(from), cursor{from.bytes} {
    int error = 0;
    gif.reset(DGifOpen(&cursor, &read_bytes, &error));
    if (!gif) fail_gif(encoded, cursor, error);
  }

  void require(int code) {
    if (code != GIF_OK) fail_gif(encoded, cursor, gif->Error);
  }

  const ColorMapObject* colour_map() const {
    const ColorMapObject* map = gif->Image.ColorMap;
    return map == nullptr || (frames == 1 && is_gray_ramp(map)) ? gif->SColorMap : map;
  }

  void read_extension(GifFrame& frame) {
    int code = 0;
    GifByteType* block = nullptr;  // its first byte is its length
    require(DGifGetExtension(gif.get(), &code, &block));
    if (code == GRAPHICS_EXT_FUNC_CODE && block != nullptr && block[0] >= 4) {
      if ((block[1] & 1) != 0) frame.transparent = block[4];
      frame.seconds = (block[2] + 256 * block[3]) / 100.0;
      frame.disposal = static_cast<Disposal>(std::min((block[1] >> 2) & 7, 3));
    }
    while (block != nullptr) require(DGifGetExtensionNext(gif.get(), &block));
  }

  /// Where the file may end without an error: behind a whole frame.
  bool at_end() {
    skip_stray_bytes(cursor);
    return frames > 0 && (cursor.position == cursor.bytes.size() || cursor.bytes[cursor.position] == trailer);
  }
};

GifFrames::GifFrames(const EncodedImage& encoded) : reader_(std::make_unique<Reader>(encoded)) {}
GifFrames::~GifFrames() = default;

int GifFrames::width() const {
  return reader_->gif->SWidth;
}

int GifFrames::height() const {
  return reader_->gif->SHeight;
}

std::optional<std::uint8_t> GifFrames::background() const {
  if (reader_->gif->SColorMap == nullptr) return std::nullopt;
  return static_cast<std::uint8_t>(reader_->gif->SBackGroundColor);
}

std::optional<GifFrame> GifFrames::next() {
  Reader& r = *reader_;
  if (r.frames > 0) {
    BlockWalk walk(r.cursor);
    if (!walk.skip_blocks()) fail_truncated(r.encoded, "GIF", "a frame is not complete");
    r.cursor.position = walk.position();
  }
  GifFrame frame;
  while (!r.at_end()) {
    GifRecordType type = UNDEFINED_RECORD_TYPE;
    r.require(DGifGetRecordType(r.gif.get(), &type));
    if (type == TERMINATE_RECORD_TYPE) fail(ErrorCode::image_corrupt, r.encoded, "GIF without a frame");
    if (type != IMAGE_DESC_RECORD_TYPE) {
      r.read_extension(frame);
      continue;
    }
    r.require(DGifGetImageDesc(r.gif.get()));
    const GifImageDesc& place = r.gif->Image;
    if (place.Width <= 0 || place.Height <= 0)
      fail(ErrorCode::image_corrupt, r.encoded, "GIF frame without pixels");
    frame.left = place.Left;
    frame.top = place.Top;
    frame.width = place.Width;
    frame.height = place.Height;
    ++r.frames;
    r.pixels_pending = true;
    return frame;
  }
  return std::nullopt;
}

void GifFrames::read_pixels(GifFrame& frame) {
  Reader& r = *reader_;
  if (!std::exchange(r.pixels_pending, false)) throw Error(ErrorCode::internal, "GIF pixels read twice");
  check_size(r.encoded, frame.width, frame.height);
  frame.indices.resize(static_cast<std::size_t>(frame.width) * static_cast<std::size_t>(frame.height));
  IndexReader indices(r.gif.get(), r.encoded, r.cursor);
  const auto width = static_cast<std::size_t>(frame.width);
  for (const int y : row_order(frame.height, r.gif->Image.Interlace))
    indices.read_row(std::span(frame.indices).subspan(static_cast<std::size_t>(y) * width, width));
}

Palette GifFrames::palette() const {
  return to_palette(reader_->colour_map());
}

int GifFrames::palette_size() const {
  const ColorMapObject* map = reader_->colour_map();
  return is_gray_ramp(map) ? 256 : map->ColorCount;
}

void GifFrames::check_rest() const {
  const Reader& r = *reader_;
  BlockWalk walk(r.cursor);
  bool whole = walk.skip_blocks();
  BlockWalk::Found found = BlockWalk::Found::frame;
  while (whole && (found = walk.find_frame()) == BlockWalk::Found::frame) whole = walk.skip_blocks();
  if (!whole || found == BlockWalk::Found::cut_off)
    fail_truncated(r.encoded, "GIF", "a frame is not complete");
}

std::int64_t GifFrames::count_rest() const {
  BlockWalk walk(reader_->cursor);
  std::int64_t count = 0;
  while (walk.skip_blocks() && walk.find_frame() == BlockWalk::Found::frame) ++count;
  return count;
}

void fill_canvas(Image& canvas, const Rgb& colour) {
  for (std::size_t i = 0; i < canvas.pixels.size(); i += 3)
    std::copy(colour.begin(), colour.end(), &canvas.pixels[i]);
}

void draw_frame(const GifFrame& frame, const Palette& palette, Transparent transparent, Image& canvas) {
  const std::uint8_t* index = frame.indices.data();
  const bool skips = transparent == Transparent::skipped && frame.transparent;
  for (int y = 0; y < frame.height; ++y) {
    const std::int64_t first = (std::int64_t{frame.top} + y) * canvas.width + frame.left;
    std::uint8_t* rgb = canvas.pixels.data() + 3 * first;
    for (int x = 0; x < frame.width; ++x, ++index, rgb += 3)
      if (!skips || *index != *frame.transparent)
        std::copy(palette[*index].begin(), palette[*index].end(), rgb);
  }
}

}  // namespace vit::io::internal
