// Portable bitmaps, graymaps and pixmaps (P1 to P6), by Pillow's rules.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "io/byte_order.hpp"
#include "io/image_formats.hpp"

namespace vit::io::internal {
namespace {

constexpr std::size_t max_token = 10;  // digits

bool is_space(std::uint8_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

struct Header {
  char kind = 0;  ///< '1' to '6'
  std::int64_t width = 0;
  std::int64_t height = 0;
  int max_value = 1;
  std::size_t channels = 1;
};

/// Reads numbers out of text. A comment runs from # to the end of its line and does not end a number.
class TokenReader {
 public:
  TokenReader(const EncodedImage& encoded, std::size_t position) : encoded_(encoded), position_(position) {}

  std::size_t position() const { return position_; }

  /// The next number, and the one space behind it.
  int number() {
    std::int64_t value = 0;
    std::size_t digits = 0;
    while (position_ < encoded_.bytes.size()) {
      const std::uint8_t c = encoded_.bytes[position_++];
      if (c == '#') {
        skip_comment();
      } else if (is_space(c)) {
        if (digits > 0) break;
      } else if (c < '0' || c > '9' || ++digits > max_token) {
        fail(ErrorCode::image_corrupt, encoded_, fmt::format("PNM with no number at byte {}", position_ - 1));
      } else {
        value = value * 10 + (c - '0');
      }
    }
    if (digits == 0) fail_truncated(encoded_, "PNM");
    return static_cast<int>(std::min<std::int64_t>(value, std::int64_t{1} << 30));
  }

  /// The next 0 or 1 of a plain bitmap; spaces between them are optional.
  bool bit() {
    while (position_ < encoded_.bytes.size()) {
      const std::uint8_t c = encoded_.bytes[position_++];
      if (c == '#') {
        skip_comment();
      } else if (c == '0' || c == '1') {
        return c == '1';
      } else if (!is_space(c)) {
        fail(ErrorCode::image_corrupt, encoded_,
             fmt::format("PNM with neither 0 nor 1 at byte {}", position_ - 1));
      }
    }
    fail_truncated(encoded_, "PNM");
  }

 private:
  void skip_comment() {
    while (position_ < encoded_.bytes.size()) {
      const std::uint8_t c = encoded_.bytes[position_++];
      if (c == '\n' || c == '\r') return;
    }
  }

  const EncodedImage& encoded_;
  std::size_t position_;
};

Header read_header(const EncodedImage& encoded, TokenReader& tokens) {
  Header pnm;
  pnm.kind = static_cast<char>(encoded.bytes[1]);
  pnm.width = tokens.number();
  pnm.height = tokens.number();
  check_size(encoded, pnm.width, pnm.height);
  if (pnm.kind == '1' || pnm.kind == '4') return pnm;
  pnm.max_value = tokens.number();
  if (pnm.max_value < 1 || pnm.max_value > 65535)
    fail(ErrorCode::image_corrupt, encoded,
         fmt::format("PNM with a maximum of {} (1 to 65535)", pnm.max_value));
  if (pnm.kind == '3' || pnm.kind == '6') pnm.channels = 3;
  return pnm;
}

/// What each stored value becomes. Colours are scaled to 255. Gray is as well, but beyond 8 bits Pillow
/// scales it to 65535 and then clips it to 255.
std::vector<std::uint8_t> make_levels(const Header& pnm) {
  const bool wide_gray = pnm.channels == 1 && pnm.max_value > 255;
  const double target = wide_gray ? 65535 : 255;
  std::vector<std::uint8_t> levels(static_cast<std::size_t>(std::max(pnm.max_value, 255)) + 1, 255);
  for (int value = 0; value <= pnm.max_value; ++value)
    levels[static_cast<std::size_t>(value)] = static_cast<std::uint8_t>(
        std::min(255.0, std::nearbyint(static_cast<double>(value) / pnm.max_value * target)));
  return levels;
}

void read_plain(const EncodedImage& encoded, const Header& pnm, TokenReader& tokens, Image& image) {
  const std::vector<std::uint8_t> levels = make_levels(pnm);
  const std::size_t step = pnm.channels == 3 ? 1 : 3;
  for (std::size_t i = 0; i < image.pixels.size(); i += step) {
    if (pnm.kind == '1') {
      put_gray(&image.pixels[i], tokens.bit() ? 0 : 255);
      continue;
    }
    const int value = tokens.number();
    if (value > pnm.max_value)
      fail(ErrorCode::image_corrupt, encoded,
           fmt::format("PNM with the value {}, over its maximum of {}", value, pnm.max_value));
    const std::uint8_t level = levels[static_cast<std::size_t>(value)];
    if (pnm.channels == 3) {
      image.pixels[i] = level;
    } else {
      put_gray(&image.pixels[i], level);
    }
  }
}

/// `data` begins at the first pixel and is long enough.
void read_binary(const Header& pnm, const std::uint8_t* data, Image& image) {
  const auto width = static_cast<std::size_t>(pnm.width);
  if (pnm.kind == '4') {
    const std::size_t stride = (width + 7) / 8;
    for (std::size_t y = 0; y < static_cast<std::size_t>(pnm.height); ++y)
      for (std::size_t x = 0; x < width; ++x) {
        const bool black = (data[y * stride + x / 8] >> (7 - x % 8) & 1) != 0;
        put_gray(&image.pixels[3 * (y * width + x)], black ? 0 : 255);
      }
    return;
  }
  const std::vector<std::uint8_t> levels = make_levels(pnm);
  const std::size_t step = pnm.channels == 3 ? 1 : 3;
  for (std::size_t i = 0, sample = 0; i < image.pixels.size(); i += step, ++sample) {
    const int value = pnm.max_value < 256 ? data[sample] : load_be16(data + 2 * sample);
    const std::uint8_t level =
        levels[static_cast<std::size_t>(std::min(value, static_cast<int>(levels.size()) - 1))];
    if (pnm.channels == 3) {
      image.pixels[i] = level;
    } else {
      put_gray(&image.pixels[i], level);
    }
  }
}

std::size_t binary_size(const Header& pnm) {
  const auto width = static_cast<std::size_t>(pnm.width), height = static_cast<std::size_t>(pnm.height);
  if (pnm.kind == '4') return (width + 7) / 8 * height;
  return width * height * pnm.channels * (pnm.max_value < 256 ? 1 : 2);
}

}  // namespace

DecodedImage decode_pnm(const EncodedImage& encoded) {
  TokenReader tokens(encoded, 2);
  const Header pnm = read_header(encoded, tokens);
  DecodedImage decoded;
  if (pnm.kind <= '3') {
    const std::size_t fewest_bytes = static_cast<std::size_t>(pnm.width * pnm.height) * pnm.channels;
    if (encoded.bytes.size() - tokens.position() < fewest_bytes) fail_truncated(encoded, "PNM");
    decoded.image = allocate_image(encoded, pnm.width, pnm.height);
    read_plain(encoded, pnm, tokens, decoded.image);
    return decoded;
  }
  if (encoded.bytes.size() - tokens.position() < binary_size(pnm))
    fail_truncated(encoded, "PNM", fmt::format("{} are needed", tokens.position() + binary_size(pnm)));
  decoded.image = allocate_image(encoded, pnm.width, pnm.height);
  read_binary(pnm, encoded.bytes.data() + tokens.position(), decoded.image);
  return decoded;
}

}  // namespace vit::io::internal
