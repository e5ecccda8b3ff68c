// What is refused, with which code and message, and that damage never gets through as a picture.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "io/image.hpp"
#include "tests/io/image_cases.hpp"

namespace vit::test {
namespace {

using namespace std::literals;

void expect_error(std::string_view bytes, ErrorCode code, std::string_view part,
                  const io::DecodeOptions& options = {}) {
  SCOPED_TRACE(std::string(bytes.substr(0, 40)));
  const Error error = error_of(to_bytes(bytes), options);
  EXPECT_EQ(to_string(error.code()), to_string(code)) << error.what();
  EXPECT_TRUE(std::string_view(error.what()).starts_with("case.bin: ")) << error.what();
  EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what();
}

std::string read_text(const std::string& name) {
  const Encoded bytes = read_picture(name);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string replaced(std::string text, std::size_t at, std::string_view with) {
  return text.replace(at, with.size(), with);
}

TEST(ImageError, Empty) {
  expect_error("", ErrorCode::image_empty, "empty");
}

TEST(ImageError, Unknown) {
  expect_error("hello, I am a text\n", ErrorCode::image_unknown, "text");
  expect_error("  <!DOCTYPE html><html></html>", ErrorCode::image_unknown, "HTML");
  expect_error("version https://git-lfs.github.com/spec/v1\noid sha256:00\n", ErrorCode::image_unknown,
               "Git LFS");
  expect_error("{\"error\": \"not found\"}", ErrorCode::image_unknown, "JSON");
  expect_error("PK\3\4zipped", ErrorCode::image_unknown, "zip");
  expect_error("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"sv, ErrorCode::image_unknown, "zero bytes");
  expect_error("\1\2\3\4\5\6\7\x08\x0e", ErrorCode::image_unknown, "01 02 03 04");
  expect_error("BMW is a car, not a bitmap", ErrorCode::image_unknown, "text");
  expect_error("P5x 1 1 255 ", ErrorCode::image_unknown, "text");
  expect_error("x", ErrorCode::image_unknown, "text");
}

TEST(ImageError, OtherFormatsAreNamed) {
  expect_error(
      "\0\0\0\x18"
      "ftypheic\0\0\0\0"sv,
      ErrorCode::image_unsupported, "HEIC");
  expect_error(
      "\0\0\0\x18"
      "ftypavif\0\0\0\0"sv,
      ErrorCode::image_unsupported, "AVIF");
  expect_error(
      "\0\0\0\x18"
      "ftypmp42\0\0\0\0"sv,
      ErrorCode::image_unsupported, "MP4");
  expect_error("8BPS\0\1"sv, ErrorCode::image_unsupported, "PSD");
  expect_error("\0\0\1\0\1\0"sv, ErrorCode::image_unsupported, "ICO");
  expect_error("\0\0\0\x0cjP  \r\n\x87\n"sv, ErrorCode::image_unsupported, "JPEG 2000");
  expect_error("<svg xmlns=\"http://www.w3.org/2000/svg\"/>", ErrorCode::image_unsupported, "SVG");
  expect_error("<?xml version=\"1.0\"?>\n<svg/>", ErrorCode::image_unsupported, "SVG");
  expect_error("%PDF-1.7", ErrorCode::image_unsupported, "PDF");
  expect_error("P7\nWIDTH 1\n", ErrorCode::image_unsupported, "PAM");
}

TEST(ImageError, KindsThatPillowRefusesAsWell) {
  std::set<std::string> decoded;
  for (const PictureCase& picture : picture_cases()) decoded.insert(picture.name);
  int count = 0;
  for (const std::string& name : picture_names()) {
    if (decoded.contains(name)) continue;
    ++count;
    const bool ends_early = name.find("_short") != name.npos;
    expect_error(read_text(name), ends_early ? ErrorCode::image_truncated : ErrorCode::image_unsupported, "");
  }
  EXPECT_EQ(count, 7);
}

TEST(ImageError, Unsupported) {
  const std::string jpeg = read_text("jpg_gray.jpg");
  const std::size_t frame = jpeg.find("\xff\xc0\0\x0b\x08"sv);
  ASSERT_NE(frame, jpeg.npos);
  expect_error(replaced(jpeg, frame + 4, "\x0c"), ErrorCode::image_unsupported, "12");
  expect_error(replaced(jpeg, frame + 1, "\xc3"), ErrorCode::image_unsupported, "JPEG");  // lossless

  const std::string bmp = read_text("bmp_24bit.bmp");
  expect_error(replaced(bmp, 28, "\2"), ErrorCode::image_unsupported, "2 bits");
  expect_error(replaced(bmp, 30, "\5"), ErrorCode::image_unsupported, "compression 5");
  expect_error(replaced(bmp, 14, "\x29"), ErrorCode::image_unsupported, "41 bytes");
}

TEST(ImageError, Corrupt) {
  const std::string png = read_text("png_rgb8.png");
  expect_error(replaced(png, 20, "\x7f"), ErrorCode::image_corrupt, "IHDR");
  const std::size_t data = png.find("IDAT");
  expect_error(replaced(png, data + 6, "\xa5\x5a"), ErrorCode::image_corrupt, "checksum");
  const std::string palette = read_text("png_palette4.png");
  const std::size_t at = palette.find("PLTE") - 4;
  std::string without = palette;
  without.erase(at, 12 + 48);
  expect_error(without, ErrorCode::image_corrupt, "palette");

  expect_error("P5 2 1 255 \1", ErrorCode::image_truncated, "PNM");
  expect_error("P2 1 1 9 10", ErrorCode::image_corrupt, "10");
  expect_error("P2 1 1 9 x", ErrorCode::image_corrupt, "number");
  expect_error("P1 2 1 1 2", ErrorCode::image_corrupt, "0 nor 1");
  expect_error("P5 0 1 255 ", ErrorCode::image_corrupt, "no pixels");
  expect_error("P6 1 1 65536 abc", ErrorCode::image_corrupt, "65536");
  expect_error("GIF89a\1\0\1\0\0\0\0;"sv, ErrorCode::image_corrupt, "without a frame");
}

TEST(ImageError, TooLarge) {
  // 4 GB of pixels in a few bytes, told by the header alone.
  expect_error("P6 40000 40000 255\n", ErrorCode::image_too_large, "40000 x 40000");
  expect_error("P6 1000000000 1000000000 255\n", ErrorCode::image_too_large, "limit");
  for (const char* name :
       {"png_rgb8.png", "jpg_444.jpg", "gif_4bit.gif", "webp_lossy.webp", "webp_lossless.webp",
        "webp_animated_lossy.webp", "bmp_24bit.bmp", "bmp_rle8.bmp", "tif_rgb.tif", "tif_pillow_lzw.tif",
        "tif_pillow_ycbcr_jpeg.tif", "tif_tiles.tif", "pnm_p3_255.ppm"}) {
    SCOPED_TRACE(name);
    io::DecodeOptions options;
    const Encoded bytes = read_picture(name);
    const io::Image image = io::decode_image(bytes, name);
    options.max_pixels = image.width * image.height - 1;
    EXPECT_EQ(error_of(bytes, options).code(), ErrorCode::image_too_large);
    ++options.max_pixels;
    if (std::string_view(name) != "tif_tiles.tif") {  // its tiles are larger than the picture
      EXPECT_EQ(io::decode_image(bytes, name, options).pixels, image.pixels);
    }
  }
}

/// The limit is where Pillow raises DecompressionBombError: 2 * 89478485 pixels.
TEST(ImageError, DefaultLimitIsPillows) {
  expect_error("P4 178956971 1\n", ErrorCode::image_too_large, "178956970");
  expect_error("P4 178956970 1\n", ErrorCode::image_truncated, "");
}

TEST(ImageError, JpegWithoutItsEnd) {
  const std::string jpeg = read_text("jpg_420.jpg");
  expect_error(std::string_view(jpeg).substr(0, jpeg.size() - 2), ErrorCode::image_truncated, "end marker");
  // Cut in the middle, with an end marker put behind it: libjpeg would paint the rest gray.
  expect_error(jpeg.substr(0, jpeg.size() - 20) + "\xff\xd9", ErrorCode::image_truncated,
               "before the last pixels");
}

TEST(ImageError, GifCodesThatMeanNothing) {
  // One clear code (4), then code 7 before anything was learnt: 3-bit codes, from the low bit up.
  expect_error("GIF89a\1\0\1\0\0\0\0,\0\0\0\0\1\0\1\0\0\2\2\x3c\0\0;"sv, ErrorCode::image_corrupt, "code");
}

/// Cut anywhere, a picture is refused, or is all there (what was cut off did not matter). Only the last
/// number of a plain PNM can lose digits unnoticed.
TEST(ImageError, TruncatedAnywhere) {
  testing::internal::CaptureStderr();
  for (const PictureCase& picture : picture_cases()) {
    if (picture.kind != "exif") continue;
    SCOPED_TRACE(picture.name);
    const Encoded whole = read_picture(picture.name);
    const io::Image image = io::decode_image(whole, picture.name);
    const bool loses_digits = picture.name.starts_with("pnm_p2") || picture.name.starts_with("pnm_p3");
    const std::size_t step = 1 + whole.size() / 97;
    for (std::size_t size = 1; size < whole.size(); size += size + 40 < whole.size() ? step : 1) {
      const Encoded part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      try {
        const io::Image got = io::decode_image(part, picture.name);
        const bool is_whole = got.pixels == image.pixels;
        EXPECT_TRUE(is_whole || loses_digits) << "cut to " << size << " of " << whole.size();
      } catch (const Error& error) {
        // A part of a signature may look like anything.
        EXPECT_TRUE(size < 12 || error.code() == ErrorCode::image_truncated) << error.what();
        EXPECT_TRUE(std::string_view(error.what()).starts_with(picture.name)) << error.what();
      }
    }
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");  // libraries stay silent
}

/// Damaged bits: a picture or an Error, and nothing else.
TEST(ImageError, FlippedBits) {
  testing::internal::CaptureStderr();
  io::DecodeOptions options;
  options.max_pixels = 1'000'000;
  std::mt19937 random(1);
  for (const std::string& name : picture_names()) {
    SCOPED_TRACE(name);
    const Encoded whole = read_picture(name);
    for (int round = 0; round < 40; ++round) {
      Encoded damaged = whole;
      const std::size_t range = round % 2 == 0 ? damaged.size() : std::min<std::size_t>(damaged.size(), 160);
      for (int flips = 1 + round % 4; flips > 0; --flips)
        damaged[random() % range] ^= std::byte{1} << (random() % 8);
      try {
        const io::Image image = io::decode_image(damaged, name, options);
        EXPECT_EQ(image.pixels.size(), static_cast<std::size_t>(image.width * image.height * 3));
      } catch (const Error& error) {
        EXPECT_NE(to_string(error.code()), "internal") << error.what();
      }
    }
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace vit::test
