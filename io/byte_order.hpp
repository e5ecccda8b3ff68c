// Integers out of unaligned bytes, in the byte order of a file.
#pragma once

#include <cstdint>

namespace vit::io::internal {

inline std::uint16_t load_le16(const std::uint8_t* bytes) {
  return static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8);
}

inline std::uint16_t load_be16(const std::uint8_t* bytes) {
  return static_cast<std::uint16_t>(bytes[0] << 8 | bytes[1]);
}

inline std::uint32_t load_le32(const std::uint8_t* bytes) {
  return load_le16(bytes) | static_cast<std::uint32_t>(load_le16(bytes + 2)) << 16;
}

inline std::uint32_t load_be32(const std::uint8_t* bytes) {
  return static_cast<std::uint32_t>(load_be16(bytes)) << 16 | load_be16(bytes + 2);
}

}  // namespace vit::io::internal
