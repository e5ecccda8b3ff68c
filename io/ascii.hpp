// What is done to the letters of ASCII in texts of UTF-8 or of any other bytes.
#pragma once

#include <cstddef>
#include <string>

namespace vit::io {

/// A to Z in small letters; other bytes as they are, whatever the locale.
std::string to_lower(std::string text);

/// Printable ASCII, "?" for every other character of UTF-8.
std::string to_ascii(const std::string& utf8);

/// At most so many bytes of the beginning, without half a character of UTF-8 at the end.
std::string utf8_prefix(const std::string& utf8, std::size_t most);

}  // namespace vit::io
