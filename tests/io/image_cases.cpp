#include "tests/io/image_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace vit::test {
namespace {

const std::string folder = std::string(VITRINE_TEST_DATA) + "/images/";

/// expected.ppm: binary PPMs one after the other, "P6 # <name> <kind>\n<width> <height> 255\n<pixels>".
std::vector<PictureCase> parse_expected(std::istream& stream) {
  std::vector<PictureCase> cases;
  std::string magic, hash, line;
  while (std::getline(stream, line)) {
    PictureCase next;
    std::istringstream(line) >> magic >> hash >> next.name >> next.kind;
    std::getline(stream, line);
    std::istringstream(line) >> next.expected.width >> next.expected.height;
    next.expected.pixels.resize(static_cast<std::size_t>(next.expected.width * next.expected.height * 3));
    stream.read(reinterpret_cast<char*>(next.expected.pixels.data()),
                static_cast<std::streamsize>(next.expected.pixels.size()));
    if (magic != "P6" || !stream) throw std::runtime_error("expected.ppm is damaged");
    cases.push_back(std::move(next));
  }
  return cases;
}

}  // namespace

Encoded read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + path);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  return to_bytes(text);
}

Encoded to_bytes(std::string_view text) {
  Encoded bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

const std::vector<PictureCase>& picture_cases() {
  static const std::vector<PictureCase> cases = [] {
    std::ifstream stream(folder + "expected.ppm", std::ios::binary);
    return parse_expected(stream);
  }();
  return cases;
}

const std::vector<std::string>& picture_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().filename() != "expected.ppm") found.push_back(entry.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
  }();
  return names;
}

Encoded read_picture(const std::string& name) {
  return read_file(folder + name);
}

io::DecodeOptions options_of(std::string_view kind) {
  io::DecodeOptions options;
  if (kind == "plain") options.exif = io::Exif::ignore;
  if (kind == "white") options.transparency = io::Transparency::colour_key_on_white;
  return options;
}

Error error_of(const Encoded& bytes, const io::DecodeOptions& options) {
  try {
    io::decode_image(bytes, "case.bin", options);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "decoded";
  return {ErrorCode::internal, ""};
}

}  // namespace vit::test
