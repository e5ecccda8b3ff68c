#include "io/npy_writer.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::io {
namespace {

using test::read_text;
using test::TempFolder;
using namespace std::string_view_literals;

constexpr std::size_t kFixedBytes = 10;  // magic, version, length

/// The dictionary of a file, its padding checked and cut off.
std::string dictionary(const std::string& file) {
  EXPECT_EQ(file.substr(0, 8), "\x93NUMPY\x01\x00"sv);
  const std::size_t length =
      static_cast<unsigned char>(file.at(8)) + 256U * static_cast<unsigned char>(file.at(9));
  EXPECT_EQ((kFixedBytes + length) % 64, 0U);
  std::string text = file.substr(kFixedBytes, length);
  EXPECT_EQ(text.back(), '\n');
  text.pop_back();
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::vector<float> values(const std::string& file) {
  const std::size_t length =
      static_cast<unsigned char>(file.at(8)) + 256U * static_cast<unsigned char>(file.at(9));
  std::vector<float> all((file.size() - kFixedBytes - length) / sizeof(float));
  std::memcpy(all.data(), file.data() + kFixedBytes + length, all.size() * sizeof(float));
  return all;
}

TEST(Npy, AnArrayOfAnyShape) {
  const TempFolder folder;
  const std::vector<float> numbers{1, 2, 3, 4, 5, -6.5F};
  for (const auto& [shape, text] : {std::pair<Shape, const char*>({2, 3}, "(2, 3)"),
                                    {{1, 6, 1}, "(1, 6, 1)"},
                                    {{6}, "(6,)"},
                                    {{0, 3}, "(0, 3)"},
                                    {{}, "()"}}) {
    write_npy(folder / "x.npy", {numbers.data(), shape});
    const std::string file = read_text(folder / "x.npy");
    // As numpy.save writes it (NumPy 2).
    EXPECT_EQ(dictionary(file),
              std::string("{'descr': '<f4', 'fortran_order': False, 'shape': ") + text + ", }");
    const auto count = static_cast<std::size_t>(element_count(shape));
    EXPECT_EQ(values(file),
              std::vector<float>(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count)));
  }
}

TEST(Npy, RowsComeOneByOne) {
  const TempFolder folder;
  const std::vector<float> numbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  NpyWriter writer(folder / "x.npy", {2, 2});
  writer.write(numbers);
  writer.write(std::span(numbers).first(3));
  writer.write(std::span(numbers).subspan(3, 1));
  EXPECT_FALSE(std::filesystem::exists(folder / "x.npy"));
  writer.finish();
  const std::string file = read_text(folder / "x.npy");
  EXPECT_EQ(dictionary(file), "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 2, 2), }");
  std::vector<float> expected = numbers;
  expected.insert(expected.end(), numbers.begin(), numbers.begin() + 4);
  EXPECT_EQ(values(file), expected);
}

TEST(Npy, ManyRowsOfNumbersAndNone) {
  const TempFolder folder;
  NpyWriter numbers(folder / "numbers.npy", {});
  const float one = 1;
  for (int i = 0; i < 1000; ++i) numbers.write({&one, 1});
  numbers.finish();
  EXPECT_NE(dictionary(read_text(folder / "numbers.npy")).find("'shape': (1000,)"), std::string::npos);
  NpyWriter(folder / "none.npy", {3}).finish();
  EXPECT_NE(dictionary(read_text(folder / "none.npy")).find("'shape': (0, 3)"), std::string::npos);
  EXPECT_TRUE(values(read_text(folder / "none.npy")).empty());
}

TEST(Npy, RefusesWhatIsNoArray) {
  const TempFolder folder;
  EXPECT_ERROR(NpyWriter(folder / "x.npy", {3, 0}), ErrorCode::invalid_argument, "x.npy", "[3, 0]");
  NpyWriter writer(folder / "x.npy", {3});
  const float one = 1;
  writer.write({&one, 1});
  EXPECT_ERROR(writer.finish(), ErrorCode::invalid_argument, "x.npy", "1 values", "[3]");
  EXPECT_ERROR(NpyWriter("/no/such/folder/x.npy", {3}), ErrorCode::output_unwritable,
               "/no/such/folder/x.npy");
  EXPECT_FALSE(std::filesystem::exists(folder / "x.npy"));
}

}  // namespace
}  // namespace vit::io
