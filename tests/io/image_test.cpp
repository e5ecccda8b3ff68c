// Pixels: every picture of tests/data/images, and those of the conformance kit, against Pillow's.
#include "io/image.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/io/image_cases.hpp"

namespace vit::test {
namespace {

/// Lossy decoders may differ by 2 levels from version to version; all else is exact.
int tolerance_of(const std::string& name) {
  const bool lossy = name.starts_with("jpg_") || name.starts_with("webp_") || name.find("jpeg") != name.npos;
  return lossy ? 2 : 0;
}

int largest_difference(const io::Image& got, const io::Image& expected) {
  int largest = 0;
  for (std::size_t i = 0; i < expected.pixels.size(); ++i)
    largest = std::max(largest, std::abs(got.pixels[i] - expected.pixels[i]));
  return largest;
}

void expect_same(const io::Image& got, const io::Image& expected, int tolerance) {
  ASSERT_EQ(got.height, expected.height);
  ASSERT_EQ(got.width, expected.width);
  ASSERT_EQ(got.pixels.size(), expected.pixels.size());
  EXPECT_LE(largest_difference(got, expected), tolerance);
}

class Pixels : public testing::TestWithParam<const char*> {};

TEST_P(Pixels, AreThoseOfPillow) {
  int count = 0;
  for (const PictureCase& picture : picture_cases()) {
    if (!picture.name.starts_with(GetParam())) continue;
    SCOPED_TRACE(picture.name + " " + picture.kind);
    const Encoded bytes = read_picture(picture.name);
    expect_same(io::decode_image(bytes, picture.name, options_of(picture.kind)), picture.expected,
                tolerance_of(picture.name));
    ++count;
  }
  EXPECT_GE(count, 10);
}

INSTANTIATE_TEST_SUITE_P(Image, Pixels,
                         testing::Values("png_", "jpg_", "gif_", "webp_", "bmp_", "tif_", "pnm_"),
                         [](const auto& param) {
                           return std::string(param.param, std::strlen(param.param) - 1);
                         });

/// Where "plain" and "white" are not listed, those options change nothing.
TEST(Image, OptionsChangeNothingElsewhere) {
  std::set<std::pair<std::string, std::string>> listed;
  for (const PictureCase& picture : picture_cases()) listed.emplace(picture.name, picture.kind);
  for (const PictureCase& picture : picture_cases()) {
    if (picture.kind != "exif") continue;
    SCOPED_TRACE(picture.name);
    for (const char* kind : {"plain", "white"})
      if (!listed.contains({picture.name, kind}))
        expect_same(io::decode_image(read_picture(picture.name), picture.name, options_of(kind)),
                    picture.expected, tolerance_of(picture.name));
  }
}

/// An orientation that was left alone can be applied later.
TEST(Image, CanBeTurnedUprightLater) {
  std::set<int> orientations;
  for (const PictureCase& picture : picture_cases()) {
    if (picture.kind != "exif") continue;
    SCOPED_TRACE(picture.name);
    io::Image image = io::decode_image(read_picture(picture.name), picture.name, options_of("plain"));
    orientations.insert(image.orientation);
    io::turn_upright(image);
    EXPECT_EQ(image.orientation, 1);
    expect_same(image, picture.expected, tolerance_of(picture.name));
    EXPECT_EQ(io::decode_image(read_picture(picture.name), picture.name).orientation, 1);
  }
  EXPECT_EQ(orientations, (std::set<int>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Image, LongAndThin) {
  const std::string row(60000, '\x7f');
  for (const std::string size : {"20000 1", "1 20000"}) {
    const io::Image image = io::decode_image(to_bytes("P6 " + size + " 255\n" + row), "thin.ppm");
    EXPECT_EQ(image.width * image.height, 20000);
    EXPECT_EQ(image.pixels, std::vector<std::uint8_t>(60000, 0x7f));
  }
  const io::Image dot = io::decode_image(to_bytes("P6 1 1 255\nabc"), "dot.ppm");
  EXPECT_EQ(dot.pixels, (std::vector<std::uint8_t>{'a', 'b', 'c'}));
}

/// A minimal reader of the kit's uint8 safetensors: name -> (shape, pixels).
std::map<std::string, io::Image> read_kit_pixels(const std::string& path) {
  const Encoded bytes = read_file(path);
  const auto* data = reinterpret_cast<const char*>(bytes.data());
  std::uint64_t header_size = 0;
  for (std::size_t i = 8; i-- > 0;) header_size = header_size << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  const auto header = nlohmann::json::parse(data + 8, data + 8 + header_size);
  std::map<std::string, io::Image> images;
  for (const auto& [key, tensor] : header.items()) {
    if (key == "__metadata__") continue;
    const std::size_t begin = tensor["data_offsets"][0], end = tensor["data_offsets"][1];
    io::Image image{tensor["shape"][0], tensor["shape"][1], {}};
    const auto* first = reinterpret_cast<const std::uint8_t*>(data) + 8 + header_size;
    image.pixels.assign(first + begin, first + end);
    images.emplace(key, std::move(image));
  }
  return images;
}

TEST(Image, ConformanceKit) {
  const std::string kit = std::string(VITRINE_KIT) + "/preprocess/";
  if (!std::filesystem::exists(kit + "decoded.safetensors")) GTEST_SKIP() << "no kit at " << kit;
  const auto expected = read_kit_pixels(kit + "decoded.safetensors");
  EXPECT_GE(expected.size(), 80U);
  for (const auto& [key, image] : expected) {
    SCOPED_TRACE(key);
    const std::string file = key.substr(0, key.find('|'));
    const int tolerance = file.ends_with(".jpg") || file == "webp_lossy.webp" ? 2 : 0;
    expect_same(
        io::decode_image(read_file(kit + "images/" + file), file, options_of(key.substr(file.size() + 1))),
        image, tolerance);
  }
}

}  // namespace
}  // namespace vit::test
