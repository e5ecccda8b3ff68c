#include "io/image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <opencv2/core.hpp>
#include <utility>

#include "io/image_formats.hpp"
#include "io/image_sniff.hpp"

namespace vit::io {
namespace internal {

void fail(ErrorCode code, const EncodedImage& encoded, const std::string& what) {
  throw Error(code, fmt::format("{}: {}", encoded.name, what));
}

void fail_truncated(const EncodedImage& encoded, std::string_view format, std::string_view expected) {
  const std::size_t size = encoded.bytes.size();
  fail(ErrorCode::image_truncated, encoded,
       expected.empty() ? fmt::format("{} data ends early ({} bytes)", format, size)
                        : fmt::format("{} data ends early ({} bytes; {})", format, size, expected));
}

void check_size(const EncodedImage& encoded, std::int64_t width, std::int64_t height) {
  if (width <= 0 || height <= 0)
    fail(ErrorCode::image_corrupt, encoded, fmt::format("has no pixels: width {}, height {}", width, height));
  // In this order nothing can overflow.
  if (width > encoded.max_pixels || height > encoded.max_pixels / width)
    fail(ErrorCode::image_too_large, encoded,
         fmt::format("{} x {} pixels are more than the limit of {}", width, height, encoded.max_pixels));
}

Image allocate_image(const EncodedImage& encoded, std::int64_t width, std::int64_t height) {
  check_size(encoded, width, height);
  return {height, width, std::vector<std::uint8_t>(static_cast<std::size_t>(width * height * 3))};
}

namespace {

DecodedImage decode(const EncodedImage& encoded) {
  switch (sniff_format(encoded)) {
    case ImageFormat::png:
      return decode_png(encoded);
    case ImageFormat::jpeg:
      return decode_jpeg(encoded);
    case ImageFormat::gif:
      return decode_gif(encoded);
    case ImageFormat::webp:
      return decode_webp(encoded);
    case ImageFormat::bmp:
      return decode_bmp(encoded);
    case ImageFormat::tiff:
      return decode_tiff(encoded);
    case ImageFormat::pnm:
      return decode_pnm(encoded);
  }
  throw Error(ErrorCode::internal, "a picture format without a decoder");
}

/// What transformers' convert_to_rgb does with the "transparency" that outlives Pillow's convert("RGB").
void whiten(Image& image, const Rgb& key) {
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    std::uint8_t* rgb = &image.pixels[i];
    if (std::equal(key.begin(), key.end(), rgb)) put_gray(rgb, 255);
  }
}

}  // namespace
}  // namespace internal

void require_pixels(const Image& image, std::string_view what) {
  if (image.height < 1 || image.width < 1 || std::ssize(image.pixels) != 3 * image.height * image.width) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: {} bytes for {} x {} RGB pixels", what,
                                                         image.pixels.size(), image.width, image.height));
  }
}

void turn_upright(Image& image) try {
  const int orientation = std::exchange(image.orientation, 1);
  if (orientation <= 1 || orientation > 8) return;
  const bool sides_swap = orientation >= 5;
  Image upright{sides_swap ? image.width : image.height, sides_swap ? image.height : image.width,
                std::vector<std::uint8_t>(image.pixels.size())};
  const cv::Mat from(static_cast<int>(image.height), static_cast<int>(image.width), CV_8UC3,
                     image.pixels.data());
  cv::Mat to(static_cast<int>(upright.height), static_cast<int>(upright.width), CV_8UC3,
             upright.pixels.data());
  constexpr int about_x = 0, about_y = 1, about_both = -1;  // cv::flip's codes
  switch (orientation) {
    case 2:
      cv::flip(from, to, about_y);
      break;
    case 3:
      cv::flip(from, to, about_both);
      break;
    case 4:
      cv::flip(from, to, about_x);
      break;
    case 5:
      cv::transpose(from, to);
      break;
    case 6:
      cv::rotate(from, to, cv::ROTATE_90_CLOCKWISE);
      break;
    case 7:
      cv::transpose(from, to);
      cv::flip(to, to, about_both);
      break;
    case 8:
      cv::rotate(from, to, cv::ROTATE_90_COUNTERCLOCKWISE);
      break;
    default:
      break;
  }
  image = std::move(upright);
} catch (const cv::Exception& error) {
  throw Error(ErrorCode::internal, error.what());
}

Image decode_image(std::span<const std::byte> bytes, std::string_view name, const DecodeOptions& options) {
  const internal::Bytes data(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  const internal::EncodedImage encoded{data, name, options.max_pixels};
  try {
    internal::DecodedImage decoded = internal::decode(encoded);
    if (options.transparency == Transparency::colour_key_on_white && decoded.colour_key)
      internal::whiten(decoded.image, *decoded.colour_key);
    if (options.exif == Exif::apply) turn_upright(decoded.image);
    return std::move(decoded.image);
  } catch (const std::bad_alloc&) {
    internal::fail(ErrorCode::image_too_large, encoded, "not enough memory for its pixels");
  } catch (const cv::Exception& error) {
    internal::fail(ErrorCode::internal, encoded, error.what());
  }
}

}  // namespace vit::io
