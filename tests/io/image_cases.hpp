// The pictures of tests/data/images and the pixels that Pillow gives (tests/data/make_images.py).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "io/image.hpp"
#include "vit/error.hpp"

namespace vit::test {

using Encoded = std::vector<std::byte>;

struct PictureCase {
  std::string name;  ///< of the file
  std::string kind;  ///< "exif", "plain" or "white": which options
  io::Image expected;
};

Encoded read_file(const std::string& path);
Encoded to_bytes(std::string_view text);

/// Every picture of the folder with what is expected of it; those that Pillow refuses are not there.
const std::vector<PictureCase>& picture_cases();

/// All files of the folder, sorted.
const std::vector<std::string>& picture_names();

Encoded read_picture(const std::string& name);

io::DecodeOptions options_of(std::string_view kind);

/// What decoding `bytes` under the name "case.bin" threw. Fails the test if it threw nothing.
Error error_of(const Encoded& bytes, const io::DecodeOptions& options = {});

}  // namespace vit::test
