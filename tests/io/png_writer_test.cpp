#include "io/png_writer.hpp"

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

}  // namespace
}  // namespace vit::io
