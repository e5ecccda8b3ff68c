#include "io/exif.hpp"

#include <gtest/gtest.h>

#include <string>

namespace vit::io {
namespace {

using namespace std::literals;

std::optional<int> orientation(std::string_view block) {
  return exif_orientation({reinterpret_cast<const std::uint8_t*>(block.data()), block.size()});
}

/// A little-endian block with one entry for tag 274.
std::string block(std::string_view type, std::string_view count, std::string_view value) {
  return "II*\0\x08\0\0\0\1\0\x12\1"s + std::string(type) + std::string(count) + std::string(value) +
         "\0\0\0\0"s;
}

TEST(Exif, BothByteOrders) {
  EXPECT_EQ(orientation("II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0\0\0\0\0"sv), 6);
  EXPECT_EQ(orientation("MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0"sv), 6);
}

TEST(Exif, PrefixOnceOrTwice) {
  const std::string plain = block("\3\0"sv, "\1\0\0\0"sv, "\5\0\0\0"sv);
  EXPECT_EQ(orientation("Exif\0\0"s + plain), 5);
  EXPECT_EQ(orientation("Exif\0\0Exif\0\0"s + plain), 5);
}

TEST(Exif, Types) {
  EXPECT_EQ(orientation(block("\3\0"sv, "\1\0\0\0"sv, "\x08\0\0\0"sv)), 8);
  EXPECT_EQ(orientation(block("\4\0"sv, "\1\0\0\0"sv, "\x08\0\0\0"sv)), 8);
  EXPECT_EQ(orientation(block("\1\0"sv, "\1\0\0\0"sv, "\x08\0\0\0"sv)), 1);  // BYTE: Pillow does not rotate
  EXPECT_EQ(orientation(block("\x63\0"sv, "\1\0\0\0"sv, "\x08\0\0\0"sv)), std::nullopt);
}

TEST(Exif, Values) {
  EXPECT_EQ(orientation(block("\3\0"sv, "\1\0\0\0"sv, "\0\0\0\0"sv)), 1);
  EXPECT_EQ(orientation(block("\3\0"sv, "\1\0\0\0"sv, "\x09\0\0\0"sv)), 1);
  EXPECT_EQ(orientation(block("\3\0"sv, "\0\0\0\0"sv, "\6\0\0\0"sv)), std::nullopt);
  // Three values lie elsewhere; the first counts.
  EXPECT_EQ(orientation(block("\3\0"sv, "\3\0\0\0"sv, "\x1a\0\0\0"sv) + "\7\0\1\0\1\0"s), 7);
  EXPECT_EQ(orientation(block("\3\0"sv, "\3\0\0\0"sv, "\x1b\0\0\0"sv) + "\7\0\1\0\1\0"s), std::nullopt);
  EXPECT_EQ(orientation(block("\3\0"sv, "\xff\xff\xff\xff"sv, "\6\0\0\0"sv)), std::nullopt);
}

TEST(Exif, DamageIsNoOrientation) {
  const std::string whole = block("\3\0"sv, "\1\0\0\0"sv, "\6\0\0\0"sv);
  for (std::size_t size = 0; size < whole.size() - 4; ++size)
    EXPECT_EQ(orientation(std::string_view(whole).substr(0, size)), std::nullopt) << size;
  EXPECT_EQ(orientation("no TIFF header"), std::nullopt);
  EXPECT_EQ(orientation("II*\0\xff\xff\xff\xff"sv), std::nullopt);
}

TEST(Exif, Xmp) {
  EXPECT_EQ(xmp_orientation("<rdf:Description tiff:Orientation=\"6\"/>"), 6);
  EXPECT_EQ(xmp_orientation("<tiff:Orientation>3</tiff:Orientation>"), 3);
  EXPECT_EQ(xmp_orientation("tiff:Orientation tiff:Orientation=\"8\""), 8);
  EXPECT_EQ(xmp_orientation("tiff:Orientation=\""), std::nullopt);
  EXPECT_EQ(xmp_orientation(""), std::nullopt);
}

TEST(Exif, ComesBeforeXmp) {
  const std::string exif = block("\3\0"sv, "\1\0\0\0"sv, "\1\0\0\0"sv);
  const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(exif.data()), exif.size());
  EXPECT_EQ(orientation_of(bytes, "tiff:Orientation=\"6\""), 1);
  EXPECT_EQ(orientation_of({}, "tiff:Orientation=\"6\""), 6);
  EXPECT_EQ(orientation_of({}, ""), 1);
}

}  // namespace
}  // namespace vit::io
