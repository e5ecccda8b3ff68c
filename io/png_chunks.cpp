#include "io/png_chunks.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "io/byte_order.hpp"

namespace vit::io::internal {
namespace {

constexpr std::size_t signature_size = 8;
constexpr std::size_t frame_size = 12;  // of a chunk: length, type, CRC
constexpr std::size_t max_text = std::size_t{1} << 20;

struct Chunk {
  std::string_view type;
  Bytes data;
  Bytes whole;
};

std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Chunk read_chunk(const EncodedImage& encoded, std::size_t offset) {
  const Bytes rest = encoded.bytes.subspan(offset);
  if (rest.size() < frame_size) fail_truncated(encoded, "PNG", "the IEND chunk is missing");
  const std::size_t length = load_be32(rest.data());
  const std::string_view type = as_text(rest.subspan(4, 4));
  const bool has_type = std::all_of(type.begin(), type.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!has_type)
    fail(ErrorCode::image_corrupt, encoded, fmt::format("PNG chunk without a valid type at byte {}", offset));
  if (length > rest.size() - frame_size)
    fail_truncated(encoded, "PNG", fmt::format("its {} chunk needs {}", type, offset + frame_size + length));

  const Chunk chunk{type, rest.subspan(8, length), rest.first(frame_size + length)};
  const auto crc = crc32_z(0, rest.data() + 4, length + 4);
  if (crc != load_be32(rest.data() + 8 + length))
    fail(ErrorCode::image_corrupt, encoded,
         fmt::format("PNG chunk {} at byte {} has a wrong checksum", type, offset));
  return chunk;
}

void read_header(const EncodedImage& encoded, const Chunk& chunk, PngChunks& chunks) {
  if (chunk.type != "IHDR" || chunk.data.size() != 13)
    fail(ErrorCode::image_corrupt, encoded, "PNG does not begin with an IHDR chunk of 13 bytes");
  chunks.width = load_be32(chunk.data.data());
  chunks.height = load_be32(chunk.data.data() + 4);
  chunks.bit_depth = chunk.data[8];
  chunks.colour_type = chunk.data[9];
  chunks.header = chunk.whole;
}

/// Inflates a compressed text; empty if it is damaged or longer than any orientation needs.
std::string inflate_text(Bytes compressed) {
  std::string text(max_text, '\0');
  uLongf size = max_text;
  const int status = uncompress(reinterpret_cast<Bytef*>(text.data()), &size, compressed.data(),
                                static_cast<uLong>(compressed.size()));
  text.resize(status == Z_OK ? size : 0);
  return text;
}

/// Splits at the first zero byte; the second part is empty if there is none.
std::pair<Bytes, Bytes> split_at_zero(Bytes bytes) {
  const auto zero = std::find(bytes.begin(), bytes.end(), std::uint8_t{0});
  const auto at = static_cast<std::size_t>(zero - bytes.begin());
  return {bytes.first(at), at < bytes.size() ? bytes.subspan(at + 1) : Bytes{}};
}

/// The two texts that can hold an orientation, in any of the three text chunks.
void read_text(const Chunk& chunk, PngChunks& chunks) {
  const auto [keyword, rest] = split_at_zero(chunk.data);
  const bool is_profile = as_text(keyword) == "Raw profile type exif";
  const bool is_xmp = as_text(keyword) == "XML:com.adobe.xmp";
  if ((!is_profile && !is_xmp) || rest.size() < 2) return;

  std::string text;
  if (chunk.type == "tEXt") {
    text = as_text(rest);
  } else if (chunk.type == "zTXt") {
    text = inflate_text(rest.subspan(1));  // after the compression method
  } else {
    const bool compressed = rest[0] != 0;
    const Bytes value = split_at_zero(split_at_zero(rest.subspan(2)).second).second;  // language, translation
    text = compressed ? inflate_text(value) : std::string(as_text(value));
  }
  (is_profile ? chunks.raw_profile : chunks.xmp) = std::move(text);
}

}  // namespace

PngChunks read_png_chunks(const EncodedImage& encoded) {
  PngChunks chunks;
  Chunk chunk = read_chunk(encoded, signature_size);
  read_header(encoded, chunk, chunks);
  std::string_view previous;
  for (std::size_t offset = signature_size; chunk.type != "IEND";) {
    offset += chunk.whole.size();
    previous = chunk.type;
    chunk = read_chunk(encoded, offset);
    if (chunk.type == "IDAT") {
      if (previous != "IDAT" && !chunks.image_data.empty())
        fail(ErrorCode::image_corrupt, encoded, "PNG image data (IDAT) is not in one piece");
      chunks.image_data.push_back(chunk.whole);
    } else if (chunk.type == "PLTE") {
      chunks.palette = chunk.data;
    } else if (chunk.type == "tRNS") {
      chunks.transparency = chunk.data;
    } else if (chunk.type == "eXIf") {
      chunks.exif = chunk.data;
    } else if (chunk.type == "tEXt" || chunk.type == "zTXt" || chunk.type == "iTXt") {
      read_text(chunk, chunks);
    }
  }
  if (chunks.image_data.empty()) fail(ErrorCode::image_corrupt, encoded, "PNG without image data (IDAT)");
  return chunks;
}

}  // namespace vit::io::internal
