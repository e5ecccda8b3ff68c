#include "io/contact_sheet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "vit/error.hpp"

namespace vit::io {
namespace {

void check(std::span<const SheetTile> tiles) {
  if (tiles.empty()) throw Error(ErrorCode::invalid_argument, "contact sheet: no pictures");
  for (const SheetTile& tile : tiles) {
    require_pixels(tile.image, "contact sheet");
    if (tile.image.height != tiles.front().image.height || tile.image.width != tiles.front().image.width)
      throw Error(ErrorCode::invalid_argument, "contact sheet: pictures of several sizes");
  }
}

/// The layout of a sheet, in pixels.
struct SheetLayout {
  static constexpr int kMargin = 12;
  static constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
  static constexpr double kTitleScale = 0.55;
  static constexpr double kCaptionScale = 0.45;
  static constexpr int kTitleHeight = 24;
  static constexpr int kCaptionHeight = 18;

  SheetLayout(std::span<const SheetTile> tiles, const std::string& title)
      : tile(static_cast<int>(tiles.front().image.width), static_cast<int>(tiles.front().image.height)),
        cell(tile) {
    for (const SheetTile& t : tiles) cell.width = std::max(cell.width, text_width(t.caption, kCaptionScale));
    cell.width += kMargin;
    cell.height += kCaptionHeight + kMargin;
    // As near to 4:3 as whole columns come.
    const double ratio = 4.0 / 3 * cell.height / cell.width;
    const auto count = static_cast<int>(tiles.size());
    columns = std::clamp(static_cast<int>(std::lround(std::sqrt(count * ratio))), 1, count);
    rows = (count + columns - 1) / columns;
    size = {std::max(columns * cell.width, text_width(title, kTitleScale) + kMargin) + kMargin,
            kMargin + kTitleHeight + rows * cell.height + kMargin};
  }

  static int text_width(const std::string& text, double scale) {
    int baseline = 0;
    return cv::getTextSize(text, kFont, scale, 1, &baseline).width;
  }

  /// The upper left corner of a tile.
  cv::Point corner(int index) const {
    return {kMargin + index % columns * cell.width, kMargin + kTitleHeight + index / columns * cell.height};
  }

  cv::Size tile;
  cv::Size cell;  // tile, caption and margin
  int columns = 1;
  int rows = 1;
  cv::Size size;
};

void paste(const Image& tile, cv::Point corner, Image& sheet) {
  const std::uint8_t* from = tile.pixels.data();
  for (std::int64_t y = 0; y < tile.height; ++y, from += 3 * tile.width)
    std::copy_n(from, 3 * tile.width, sheet.pixels.data() + 3 * ((corner.y + y) * sheet.width + corner.x));
}

void write_text(cv::Mat& sheet, const std::string& text, cv::Point corner, double scale) {
  const int ascent = static_cast<int>(std::lround(30 * scale));
  cv::putText(sheet, text, {corner.x, corner.y + ascent}, SheetLayout::kFont, scale, {40, 40, 40}, 1,
              cv::LINE_AA);
}

}  // namespace

Image contact_sheet(std::span<const SheetTile> tiles, const std::string& title) {
  check(tiles);
  try {
    const SheetLayout layout(tiles, title);
    Image sheet{layout.size.height, layout.size.width,
                std::vector<std::uint8_t>(static_cast<std::size_t>(3 * layout.size.area()), 255)};
    cv::Mat pixels(layout.size, CV_8UC3, sheet.pixels.data());
    write_text(pixels, title, {SheetLayout::kMargin, SheetLayout::kMargin / 2}, SheetLayout::kTitleScale);
    for (int i = 0; i < static_cast<int>(tiles.size()); ++i) {
      const SheetTile& tile = tiles[static_cast<std::size_t>(i)];
      const cv::Point corner = layout.corner(i);
      paste(tile.image, corner, sheet);
      write_text(pixels, tile.caption, {corner.x, corner.y + layout.tile.height}, SheetLayout::kCaptionScale);
    }
    return sheet;
  } catch (const cv::Exception& error) {
    throw Error(ErrorCode::internal, fmt::format("contact sheet: {}", error.what()));
  }
}

}  // namespace vit::io
