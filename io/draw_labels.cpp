#include "io/draw_labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "io/ascii.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
constexpr double kUnit = 30;            // pixels from line to line at scale 1
constexpr double kSmallestScale = 0.4;  // that can be read
constexpr std::int64_t kLeastSide = 200;
constexpr double kLinesPerSide = 22;  // so large are the letters
constexpr double kShade = 0.35;       // what is left of the picture's light behind the text

/// Each pixel `factor` times in both directions.
Image enlarge(const Image& image, std::int64_t factor) {
  Image large{image.height * factor, image.width * factor, {}};
  large.pixels.reserve(static_cast<std::size_t>(3 * large.height * large.width));
  for (std::int64_t y = 0; y < large.height; ++y) {
    const std::uint8_t* row = image.pixels.data() + 3 * (y / factor) * image.width;
    for (std::int64_t x = 0; x < large.width; ++x) {
      const std::uint8_t* pixel = row + 3 * (x / factor);
      large.pixels.insert(large.pixels.end(), pixel, pixel + 3);
    }
  }
  return large;
}

struct Letters {
  double scale = 1;
  int thickness = 1;

  explicit Letters(double s) : scale(s), thickness(std::max(1, static_cast<int>(std::lround(1.4 * s)))) {}

  int width(const std::string& text) const {
    int baseline = 0;
    return cv::getTextSize(text, kFont, scale, thickness, &baseline).width;
  }
  int line() const { return static_cast<int>(std::lround(kUnit * 1.15 * scale)); }
  int margin() const { return static_cast<int>(std::lround(kUnit * 0.4 * scale)); }
};

int widest(const std::vector<std::string>& lines, const Letters& letters) {
  int most = 0;
  for (const std::string& line : lines) most = std::max(most, letters.width(line));
  return most;
}

/// As large as suits the picture, and smaller where a line would not fit.
Letters choose_letters(cv::Size picture, const std::vector<std::string>& lines) {
  const double wished = std::min(picture.width, picture.height) / kLinesPerSide / kUnit;
  const Letters letters(std::max(wished, kSmallestScale));
  const double room = picture.width - 2 * letters.margin();
  const double fitting = letters.scale * room / std::max(widest(lines, letters), 1);
  return fitting >= letters.scale ? letters : Letters(std::max(fitting * 0.98, kSmallestScale));
}

std::string shortened(std::string line, const Letters& letters, int room) {
  if (letters.width(line) <= room) return line;
  while (!line.empty() && letters.width(line + "...") > room) line.pop_back();
  return line + "...";
}

void draw(cv::Mat& picture, std::vector<std::string> lines) {
  const Letters letters = choose_letters(picture.size(), lines);
  const int margin = letters.margin();
  for (std::string& line : lines) line = shortened(std::move(line), letters, picture.cols - 2 * margin);
  const cv::Rect ground(0, 0, std::min(picture.cols, widest(lines, letters) + 2 * margin),
                        std::min(picture.rows, static_cast<int>(lines.size()) * letters.line() + margin));
  cv::Mat behind = picture(ground);
  behind.convertTo(behind, -1, kShade);
  int baseline = margin / 2;
  for (const std::string& line : lines) {
    baseline += letters.line();
    cv::putText(picture, line, {margin, baseline - letters.line() / 5}, kFont, letters.scale, {255, 255, 255},
                letters.thickness, cv::LINE_AA);
  }
}

}  // namespace

Image draw_labels(Image picture, std::span<const std::string> lines) {
  require_pixels(picture, "picture to draw on");
  turn_upright(picture);
  if (const std::int64_t side = std::min(picture.height, picture.width); side < kLeastSide)
    picture = enlarge(picture, (kLeastSide + side - 1) / side);
  if (lines.empty()) return picture;
  try {
    cv::Mat pixels(static_cast<int>(picture.height), static_cast<int>(picture.width), CV_8UC3,
                   picture.pixels.data());
    std::vector<std::string> texts;
    for (const std::string& line : lines) texts.push_back(to_ascii(line));
    draw(pixels, std::move(texts));
  } catch (const cv::Exception& error) {
    throw Error(ErrorCode::internal, fmt::format("labels cannot be drawn: {}", error.what()));
  }
  return picture;
}

}  // namespace vit::io
