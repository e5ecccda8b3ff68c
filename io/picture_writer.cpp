#include "io/picture_writer.hpp"

#include <fmt/format.h>

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr int kJpegQuality = 95;

struct PictureFormat {
  const char* name;
  const char* extension;
  std::vector<int> parameters = {};
};

std::vector<std::byte> encode(const Image& image, const PictureFormat& format) {
  require_pixels(image, fmt::format("{} data", format.name));
  try {
    const cv::Mat rgb(static_cast<int>(image.height), static_cast<int>(image.width), CV_8UC3,
                      const_cast<std::uint8_t*>(image.pixels.data()));  // only read
    cv::Mat bgr(rgb.size(), CV_8UC3);
    const int swap[]{0, 2, 1, 1, 2, 0};
    cv::mixChannels(&rgb, 1, &bgr, 1, swap, 3);
    std::vector<std::uint8_t> encoded;
    if (!cv::imencode(format.extension, bgr, encoded, format.parameters))
      throw Error(ErrorCode::internal, fmt::format("OpenCV wrote no {} data", format.name));
    const auto bytes = std::as_bytes(std::span(encoded));
    return {bytes.begin(), bytes.end()};
  } catch (const cv::Exception& error) {
    throw Error(ErrorCode::internal, fmt::format("{} data cannot be written: {}", format.name, error.what()));
  }
}

}  // namespace

std::vector<std::byte> encode_png(const Image& image) {
  return encode(image, {"PNG", ".png"});
}

std::vector<std::byte> encode_jpeg(const Image& image) {
  return encode(image, {"JPEG", ".jpg", {cv::IMWRITE_JPEG_QUALITY, kJpegQuality}});
}

}  // namespace vit::io
