#include "io/ascii.hpp"

#include <algorithm>

namespace vit::io {
namespace {

/// Whether a byte of UTF-8 goes on with a character.
bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

}  // namespace

std::string to_lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

std::string to_ascii(const std::string& utf8) {
  std::string text;
  for (const char c : utf8) {
    if (continues(c)) continue;
    const auto byte = static_cast<unsigned char>(c);
    text += byte >= 0x20 && byte < 0x7F ? c : '?';
  }
  return text;
}

std::string utf8_prefix(const std::string& utf8, std::size_t most) {
  if (utf8.size() <= most) return utf8;
  while (most > 0 && continues(utf8[most])) --most;
  return utf8.substr(0, most);
}

}  // namespace vit::io
