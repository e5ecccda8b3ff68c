#include "io/picture_writer.hpp"

#include <gtest/gtest.h>

#include "tests/io/preprocess_data.hpp"
#include "tests/support/expect_error.hpp"

namespace vit::io {
namespace {

TEST(EncodePng, GivesThePixelsBack) {
  for (const auto& [height, width] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {37, 53}, {1, 300}, {300, 1}}) {
    const Image image = test::make_picture("noise", height, width, 5);
    const Image read = decode_image(encode_png(image), "written.png");
    EXPECT_EQ(read.height, height);
    EXPECT_EQ(read.width, width);
    EXPECT_EQ(read.pixels, image.pixels);
  }
}

TEST(EncodePng, RefusesWhatIsNoPicture) {
  EXPECT_ERROR(encode_png({}), ErrorCode::invalid_argument, "0 bytes for 0 x 0");
  EXPECT_ERROR(encode_png({2, 2, std::vector<std::uint8_t>(11)}), ErrorCode::invalid_argument,
               "11 bytes for 2 x 2");
}

TEST(EncodeJpeg, GivesNearlyThePixelsBack) {
  Image image{60, 80, {}};
  for (int y = 0; y < 60; ++y)
    for (int x = 0; x < 80; ++x)
      for (const int value : {3 * x, 4 * y, 255 - 3 * x})
        image.pixels.push_back(static_cast<std::uint8_t>(value));
  const Image read = decode_image(encode_jpeg(image), "written.jpg");
  ASSERT_EQ(read.height, image.height);
  ASSERT_EQ(read.width, image.width);
  for (std::size_t i = 0; i < read.pixels.size(); ++i)
    ASSERT_NEAR(read.pixels[i], image.pixels[i], 8) << "value " << i;
}

TEST(EncodeJpeg, RefusesWhatIsNoPicture) {
  EXPECT_ERROR(encode_jpeg({}), ErrorCode::invalid_argument, "JPEG", "0 bytes for 0 x 0");
}

}  // namespace
}  // namespace vit::io
