#include "io/contact_sheet.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/expect_error.hpp"

namespace vit::io {
namespace {

/// Black but for some red: no such colour is in the gray of letters on white.
SheetTile tile(std::int64_t height, std::int64_t width, int red, const std::string& caption = "head 3") {
  SheetTile tile{{height, width, std::vector<std::uint8_t>(static_cast<std::size_t>(3 * height * width))},
                 caption};
  for (std::size_t i = 0; i < tile.image.pixels.size(); i += 3)
    tile.image.pixels[i] = static_cast<std::uint8_t>(red);
  return tile;
}

/// How many pixels are `red`, and the rectangle that they lie in.
struct Found {
  std::int64_t count = 0;
  std::int64_t top = 1 << 20;
  std::int64_t bottom = -1;
  std::int64_t left = 1 << 20;
  std::int64_t right = -1;
};

Found find(const Image& sheet, int red) {
  Found found;
  for (std::int64_t y = 0; y < sheet.height; ++y) {
    for (std::int64_t x = 0; x < sheet.width; ++x) {
      if (sheet.pixels[static_cast<std::size_t>(3 * (y * sheet.width + x))] != red) continue;
      ++found.count;
      found.top = std::min(found.top, y);
      found.bottom = std::max(found.bottom, y);
      found.left = std::min(found.left, x);
      found.right = std::max(found.right, x);
    }
  }
  return found;
}

/// Whether something is written between two heights.
bool has_text(const Image& sheet, std::int64_t top, std::int64_t bottom) {
  const auto at = [&](std::int64_t row) { return sheet.pixels.begin() + 3 * row * sheet.width; };
  return std::any_of(at(top), at(bottom), [](std::uint8_t level) { return level < 128; });
}

TEST(ContactSheet, ShowsEveryTileWhole) {
  std::vector<SheetTile> tiles;
  for (int i = 0; i < 7; ++i) tiles.push_back(tile(40, 50, 10 + i));
  const Image sheet = contact_sheet(tiles, "title");
  std::set<std::pair<std::int64_t, std::int64_t>> corners;
  for (int i = 0; i < 7; ++i) {
    const Found found = find(sheet, 10 + i);
    EXPECT_EQ(found.count, 40 * 50) << i;
    EXPECT_EQ((found.bottom - found.top + 1) * (found.right - found.left + 1), found.count) << i;
    corners.emplace(found.top, found.left);
  }
  EXPECT_EQ(corners.size(), 7U);
  EXPECT_LT(sheet.width, 2 * sheet.height);
  EXPECT_LT(sheet.height, 2 * sheet.width);
}

TEST(ContactSheet, IsReadRowByRow) {
  const std::vector<SheetTile> tiles{tile(40, 90, 1), tile(40, 90, 2), tile(40, 90, 3), tile(40, 90, 4)};
  const Image sheet = contact_sheet(tiles, "");
  EXPECT_EQ(find(sheet, 1).top, find(sheet, 2).top);
  EXPECT_LT(find(sheet, 1).right, find(sheet, 2).left);
  EXPECT_LT(find(sheet, 2).bottom, find(sheet, 3).top);
  EXPECT_EQ(find(sheet, 3).left, find(sheet, 1).left);
}

TEST(ContactSheet, HasATitleAboveAndACaptionBelow) {
  const auto sheet = [](const std::string& title, const std::string& caption) {
    return contact_sheet(std::vector<SheetTile>{tile(40, 300, 1, caption)}, title);
  };
  const Image both = sheet("a title", "head 3");
  const Found found = find(both, 1);
  EXPECT_TRUE(has_text(both, 0, found.top));
  EXPECT_TRUE(has_text(both, found.bottom + 1, both.height));
  const Image neither = sheet("", "");
  EXPECT_FALSE(has_text(neither, 0, find(neither, 1).top));
  EXPECT_FALSE(has_text(neither, find(neither, 1).bottom + 1, neither.height));
}

TEST(ContactSheet, LongTextIsNotCutOff) {
  const std::string text(60, 'm');
  const auto right_margin_is_white = [](const Image& sheet) {
    for (std::int64_t y = 0; y < sheet.height; ++y) {
      const std::uint8_t* end = sheet.pixels.data() + 3 * (y + 1) * sheet.width;
      if (!std::all_of(end - 9, end, [](std::uint8_t level) { return level == 255; })) return false;
    }
    return true;
  };
  EXPECT_TRUE(right_margin_is_white(contact_sheet(std::vector<SheetTile>{tile(4, 4, 1, text)}, "")));
  EXPECT_TRUE(right_margin_is_white(contact_sheet(std::vector<SheetTile>{tile(4, 4, 1, "")}, text)));
}

TEST(ContactSheet, RefusesWhatIsNoGrid) {
  EXPECT_ERROR(contact_sheet({}, ""), ErrorCode::invalid_argument, "no pictures");
  EXPECT_ERROR(contact_sheet(std::vector<SheetTile>{tile(4, 5, 1), tile(5, 4, 1)}, ""),
               ErrorCode::invalid_argument, "several sizes");
  EXPECT_ERROR(contact_sheet(std::vector<SheetTile>{SheetTile{}}, ""), ErrorCode::invalid_argument,
               "0 bytes");
}

}  // namespace
}  // namespace vit::io
