#include "tests/io/preprocess_data.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace vit::test {

io::Image make_picture(std::string_view kind, std::int64_t height, std::int64_t width, std::uint64_t seed) {
  io::Image image{height, width, std::vector<std::uint8_t>(static_cast<std::size_t>(height * width * 3))};
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    auto h = static_cast<std::uint32_t>((i + 7919 * seed) * 2654435761U);
    h = (h ^ (h >> 15)) * 2246822519U;
    const auto byte = static_cast<std::uint8_t>(h ^ (h >> 13));
    image.pixels[i] = kind != "edges" ? byte : byte < 128 ? std::uint8_t{0} : std::uint8_t{255};
  }
  return image;
}

io::Image make_picture(const io::Json& test_case) {
  return make_picture(test_case["kind"].get<std::string>(), test_case["from"][0].get<std::int64_t>(),
                      test_case["from"][1].get<std::int64_t>(), test_case["seed"].get<std::uint64_t>());
}

std::vector<std::uint8_t> read_bytes(const std::string& file) {
  std::ifstream stream(VITRINE_TEST_DATA "/preprocess/" + file, std::ios::binary);
  EXPECT_TRUE(stream) << "cannot open tests/data/preprocess/" << file;
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<float> read_floats(const std::string& file) {
  const std::vector<std::uint8_t> bytes = read_bytes(file);
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), floats.size() * sizeof(float));
  return floats;
}

io::Json read_cases(const std::string& file, std::size_t least) {
  const std::vector<std::uint8_t> bytes = read_bytes(file);
  io::Json cases = io::parse_json(std::string(bytes.begin(), bytes.end()), file)["cases"];
  EXPECT_GE(cases.size(), least) << file;
  return cases;
}

std::string hash_of(std::span<const std::uint8_t> bytes) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 1099511628211ULL;
  return fmt::format("{:016x}", hash);
}

}  // namespace vit::test
