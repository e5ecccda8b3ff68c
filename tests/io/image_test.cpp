#include "io/image.hpp"

#include <gtest/gtest.h>

#include "vit/error.hpp"

namespace {

TEST(Image, EmptyFile) {
  try {
    vit::io::decode_image({}, "empty.jpg");
    FAIL();
  } catch (const vit::Error& error) {
    EXPECT_EQ(error.code(), vit::ErrorCode::image_empty);
  }
}

}  // namespace
