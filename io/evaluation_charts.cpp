#include "io/evaluation_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "io/ascii.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
constexpr double kTextScale = 0.45;
constexpr double kTitleScale = 0.55;
constexpr int kMargin = 16;
const cv::Scalar kInk(40, 40, 40);
const cv::Scalar kFaint(205, 205, 205);

/// RGB, white.
struct Canvas {
  explicit Canvas(cv::Size size)
      : image{size.height, size.width,
              std::vector<std::uint8_t>(static_cast<std::size_t>(3 * size.area()), 255)},
        pixels(size, CV_8UC3, image.pixels.data()) {}

  Image image;
  cv::Mat pixels;  // of `image`
};

Image drawn(const std::function<Image()>& draw) {
  try {
    return draw();
  } catch (const cv::Exception& error) {
    throw Error(ErrorCode::internal, fmt::format("evaluation chart: {}", error.what()));
  }
}

cv::Size text_size(const std::string& text, double scale = kTextScale) {
  int baseline = 0;
  return cv::getTextSize(text, kFont, scale, 1, &baseline);
}

/// `origin`: the left end of the text's base line.
void put_text(cv::Mat& canvas, const std::string& text, cv::Point origin, const cv::Scalar& colour = kInk,
              double scale = kTextScale) {
  cv::putText(canvas, text, origin, kFont, scale, colour, 1, cv::LINE_AA);
}

/// Upwards, its lower end at `bottom`, the middle of its letters at x = `centre`.
void put_vertical_text(cv::Mat& canvas, const std::string& text, int centre, int bottom) {
  const cv::Size size = text_size(text);
  cv::Mat strip(size.height + 10, size.width + 2, CV_8UC3, cv::Scalar::all(255));
  put_text(strip, text, {0, size.height + 3});
  cv::Mat turned;
  cv::rotate(strip, turned, cv::ROTATE_90_COUNTERCLOCKWISE);
  const cv::Rect place(centre - turned.cols / 2, bottom - turned.rows, turned.cols, turned.rows);
  turned.copyTo(canvas(place & cv::Rect({0, 0}, canvas.size())));
}

std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 24;
  return text.size() <= kMost ? text : text.substr(0, kMost - 3) + "...";
}

// ---- confusion matrix

constexpr int kCell = 40;

/// White to blue for what is right, white to red for what is not.
cv::Scalar cell_colour(double share, bool right) {
  const cv::Scalar full = right ? cv::Scalar(33, 102, 172) : cv::Scalar(214, 70, 55);
  // The square root makes rare confusions visible.
  const double weight = std::sqrt(share);
  return cv::Scalar::all(255) * (1 - weight) + full * weight;
}

void draw_cells(const ConfusionChart& chart, cv::Mat& canvas, cv::Point corner) {
  for (std::size_t row = 0; row < chart.counts.size(); ++row) {
    const std::vector<std::int64_t>& counts = chart.counts[row];
    const auto support = std::max<double>(
        1, static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0})));
    for (std::size_t column = 0; column < counts.size(); ++column) {
      const double share = static_cast<double>(counts[column]) / support;
      const cv::Rect cell(corner.x + static_cast<int>(column) * kCell,
                          corner.y + static_cast<int>(row) * kCell, kCell, kCell);
      cv::rectangle(canvas, cell, cell_colour(share, row == column), cv::FILLED);
      cv::rectangle(canvas, cell, kFaint);
      if (counts[column] == 0) continue;
      const std::string text = fmt::format("{}", counts[column]);
      const double scale = text.size() <= 4 ? 0.42 : 1.7 / static_cast<double>(text.size());
      const cv::Size size = text_size(text, scale);
      put_text(canvas, text, {cell.x + (kCell - size.width) / 2, cell.y + (kCell + size.height) / 2},
               share > 0.4 ? cv::Scalar::all(255) : kInk, scale);
    }
  }
}

void check(const ConfusionChart& chart) {
  bool fits = !chart.names.empty() && chart.counts.size() == chart.names.size();
  for (const auto& row : chart.counts) fits = fits && row.size() == chart.names.size();
  if (!fits)
    throw Error(ErrorCode::invalid_argument, "confusion chart: expected a row and a column for each class");
}

// ---- reliability diagram

constexpr int kPlot = 360;  // of each side
constexpr int kHistogram = 80;
constexpr int kAxis = 48;  // space for numbers and what they are

/// A number from 0 to 1 along an axis.
int along(double value) {
  return static_cast<int>(std::lround(value * kPlot));
}

void draw_axes(cv::Mat& canvas, cv::Point origin) {
  for (int tenth = 0; tenth <= 10; tenth += 2) {
    const int at = along(tenth / 10.0);
    cv::line(canvas, {origin.x + at, origin.y}, {origin.x + at, origin.y - kPlot}, kFaint);
    cv::line(canvas, {origin.x, origin.y - at}, {origin.x + kPlot, origin.y - at}, kFaint);
    const std::string text = fmt::format("{:.1f}", tenth / 10.0);
    put_text(canvas, text, {origin.x - 30, origin.y - at + 5});
    put_text(canvas, text, {origin.x + at - 12, origin.y + 18});
  }
  put_vertical_text(canvas, "share that is right", origin.x - 42, origin.y - kPlot / 2 + 65);
}

void draw_bins(const Calibration& calibration, cv::Mat& canvas, cv::Point origin) {
  for (std::size_t i = 0; i < kCalibrationBins; ++i) {
    const CalibrationBin& bin = calibration.bins[i];
    if (bin.count == 0) continue;
    const int left = origin.x + along(static_cast<double>(i) / kCalibrationBins);
    const int right = origin.x + along(static_cast<double>(i + 1) / kCalibrationBins) - 1;
    const int top = origin.y - along(bin.accuracy);
    const int claimed = origin.y - along(bin.confidence);
    cv::rectangle(canvas, cv::Point(left, top), {right, origin.y}, {103, 153, 204}, cv::FILLED);
    cv::rectangle(canvas, cv::Point(left, std::min(top, claimed)), {right, std::max(top, claimed)},
                  {235, 170, 160}, cv::FILLED);
    cv::line(canvas, {left, top}, {right, top}, {33, 102, 172}, 2);
  }
  cv::line(canvas, origin, {origin.x + kPlot, origin.y - kPlot}, {120, 120, 120}, 1, cv::LINE_AA);
  cv::rectangle(canvas, {origin.x, origin.y - kPlot}, {origin.x + kPlot, origin.y}, kInk);
}

void draw_histogram(const Calibration& calibration, cv::Mat& canvas, cv::Point origin) {
  std::int64_t most = 1;
  for (const CalibrationBin& bin : calibration.bins) most = std::max(most, bin.count);
  for (std::size_t i = 0; i < kCalibrationBins; ++i) {
    const double height =
        kHistogram * static_cast<double>(calibration.bins[i].count) / static_cast<double>(most);
    cv::rectangle(canvas,
                  cv::Point(origin.x + along(static_cast<double>(i) / kCalibrationBins),
                            origin.y - static_cast<int>(std::lround(height))),
                  {origin.x + along(static_cast<double>(i + 1) / kCalibrationBins) - 1, origin.y},
                  {150, 150, 150}, cv::FILLED);
  }
  cv::rectangle(canvas, {origin.x, origin.y - kHistogram}, {origin.x + kPlot, origin.y}, kInk);
  put_text(canvas, fmt::format("pictures (highest: {})", most), {origin.x + 6, origin.y - kHistogram + 16});
  put_text(canvas, "score of the best label", {origin.x + kPlot / 2 - 78, origin.y + 22});
}

}  // namespace

Image draw_confusion(const ConfusionChart& chart) {
  check(chart);
  return drawn([&] {
    std::vector<std::string> names;
    int widest = 0;
    for (const std::string& name : chart.names) {
      names.push_back(shortened(to_ascii(name)));
      widest = std::max(widest, text_size(names.back()).width);
    }
    const int side = static_cast<int>(names.size()) * kCell;
    const cv::Point corner(kMargin + 24 + widest + 8, kMargin + 52 + widest + 8);
    const int width =
        std::max(corner.x + side, kMargin + text_size(chart.title, kTitleScale).width) + kMargin;
    Canvas canvas({width, corner.y + side + kMargin});
    put_text(canvas.pixels, chart.title, {kMargin, kMargin + 10}, kInk, kTitleScale);
    put_text(canvas.pixels, "taken for", {corner.x, kMargin + 34}, {110, 110, 110});
    put_vertical_text(canvas.pixels, "really", kMargin + 6, corner.y + 48);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const int middle = static_cast<int>(i) * kCell + kCell / 2;
      put_text(canvas.pixels, names[i], {corner.x - 8 - text_size(names[i]).width, corner.y + middle + 5});
      put_vertical_text(canvas.pixels, names[i], corner.x + middle, corner.y - 6);
    }
    draw_cells(chart, canvas.pixels, corner);
    return std::move(canvas.image);
  });
}

Image draw_reliability(const Calibration& calibration) {
  return drawn([&] {
    Canvas canvas(
        {kMargin + kAxis + kPlot + 2 * kMargin, kMargin + 24 + kPlot + 36 + kHistogram + 32 + kMargin});
    const cv::Point origin(kMargin + kAxis, kMargin + 24 + kPlot);
    put_text(canvas.pixels,
             fmt::format("Reliability: ECE {:.4f}, MCE {:.4f}", calibration.ece, calibration.mce),
             {kMargin, kMargin + 10}, kInk, kTitleScale);
    draw_axes(canvas.pixels, origin);
    draw_bins(calibration, canvas.pixels, origin);
    draw_histogram(calibration, canvas.pixels, {origin.x, origin.y + 36 + kHistogram});
    return std::move(canvas.image);
  });
}

Image fit_into_square(const Image& image, int size) {
  require_pixels(image, "picture");
  return drawn([&] {
    const double scale = static_cast<double>(size) / static_cast<double>(std::max(image.height, image.width));
    const auto scaled = [&](std::int64_t side) {
      return std::clamp(static_cast<int>(std::lround(static_cast<double>(side) * scale)), 1, size);
    };
    // OpenCV only reads from it.
    const cv::Mat whole(static_cast<int>(image.height), static_cast<int>(image.width), CV_8UC3,
                        const_cast<std::uint8_t*>(image.pixels.data()));
    cv::Mat small;
    cv::resize(whole, small, {scaled(image.width), scaled(image.height)}, 0, 0,
               scale < 1 ? cv::INTER_AREA : cv::INTER_LINEAR);
    Canvas canvas({size, size});
    small.copyTo(
        canvas.pixels(cv::Rect((size - small.cols) / 2, (size - small.rows) / 2, small.cols, small.rows)));
    return std::move(canvas.image);
  });
}

}  // namespace vit::io
