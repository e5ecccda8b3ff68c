// Pickles and PyTorch files byte by byte, for tests: good ones and others.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace vit::io::torch_bytes {

using namespace std::string_literals;

inline std::string short_text(std::string_view text) {
  return "U"s + static_cast<char>(text.size()) + std::string(text);
}

inline std::string number(std::int64_t value) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &value, 8);
  return "\x8a\x08" + bytes;
}

inline std::string storage(std::int64_t elements, const std::string& type = "FloatStorage",
                           const std::string& view = "", const std::string& key = "0") {
  return "(" + short_text("storage") + "ctorch\n" + type + "\n" + short_text(key) + short_text("cpu") +
         number(elements) + view + "tQ";
}

inline std::string tuple(const std::vector<std::int64_t>& values) {
  std::string bytes = "(";
  for (const std::int64_t value : values) bytes += number(value);
  return bytes + "t";
}

inline std::string rebuild(const std::string& stored, std::int64_t offset,
                           const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n(" + stored + number(offset) + tuple(shape) + tuple(strides) +
         "\x89NtR";
}

inline std::string state_dict(const std::string& tensor) {
  return "\x80\2}" + short_text("x") + tensor + "s.";
}

inline const std::string kMagic = "\x80\2\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19."s;
inline const std::string kProtocol = "\x80\2M\xE9\3."s;
inline const std::string kMachine = "\x80\2}U\x0dlittle_endian\x88s."s;

inline std::string legacy(const std::string& object, const std::string& keys, const std::string& data) {
  return kMagic + kProtocol + kMachine + object + keys + data;
}

inline std::string count(std::int64_t value) {
  return number(value).substr(2);
}

}  // namespace vit::io::torch_bytes
