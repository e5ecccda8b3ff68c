#include "io/png_writer.hpp"

#include <fmt/format.h>

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "vit/error.hpp"

namespace vit::io {

std::vector<std::byte> encode_png(const Image& image) {
  require_pixels(image, "PNG data");
  try {
    const cv::Mat rgb(static_cast<int>(image.height), static_cast<int>(image.width), CV_8UC3,
                      const_cast<std::uint8_t*>(image.pixels.data()));  // only read
    cv::Mat bgr(rgb.size(), CV_8UC3);
    const int swap[]{0, 2, 1, 1, 2, 0};
    cv::mixChannels(&rgb, 1, &bgr, 1, swap, 3);
    std::vector<std::uint8_t> encoded;
    if (!cv::imencode(".png", bgr, encoded)) throw Error(ErrorCode::internal, "OpenCV wrote no PNG data");
    const auto bytes = std::as_bytes(std::span(encoded));
    return {bytes.begin(), bytes.end()};
  } catch (const cv::Exception& error) {
    throw Error(ErrorCode::internal, fmt::format("PNG data cannot be written: {}", error.what()));
  }
}

}  // namespace vit::io
