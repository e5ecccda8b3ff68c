// Reads tests/data/preprocess/, which tests/data/make_preprocess.py wrote with the reference libraries.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/image.hpp"
#include "io/json.hpp"

namespace vit::test {

/// The picture that a case starts from: case["kind"], case["seed"], case["from"].
io::Image make_picture(const io::Json& test_case);
io::Image make_picture(std::string_view kind, std::int64_t height, std::int64_t width, std::uint64_t seed);

/// The cases of a JSON file of the folder. Fails the test if there are fewer than `least`.
io::Json read_cases(const std::string& file, std::size_t least);

/// All of a binary file of the folder.
std::vector<std::uint8_t> read_bytes(const std::string& file);
std::vector<float> read_floats(const std::string& file);

/// 64-bit FNV-1a in hexadecimal.
std::string hash_of(std::span<const std::uint8_t> bytes);

}  // namespace vit::test
