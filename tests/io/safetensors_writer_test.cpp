#include "io/safetensors_writer.hpp"

#include <gtest/gtest.h>

#include "io/safetensors.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::io {
namespace {

using test::TempFolder;

std::vector<float> read(const std::filesystem::path& path, std::string_view name, const Shape& shape) {
  const Tensor tensor = SafetensorsFile(path).read(name);
  EXPECT_EQ(tensor.shape(), shape);
  return {tensor.elements().begin(), tensor.elements().end()};
}

TEST(SafetensorsWriter, WritesTensorsInTurns) {
  const TempFolder folder;
  SafetensorsWriter writer(folder / "x",
                           {{"b", {2, 2}}, {"say \"日本\"\n", {3}}, {"scalar", {}}, {"none", {0, 7}}},
                           {{"made by", "a test"}});
  writer.write("say \"日本\"\n", std::vector<float>{1, 2});
  writer.write("b", std::vector<float>{5, 6});
  writer.write("b", std::vector<float>{7, 8});
  writer.write("scalar", std::vector<float>{9});
  writer.write("say \"日本\"\n", std::vector<float>{3});
  writer.finish();
  EXPECT_EQ(read(folder / "x", "b", {2, 2}), (std::vector<float>{5, 6, 7, 8}));
  EXPECT_EQ(read(folder / "x", "say \"日本\"\n", {3}), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(read(folder / "x", "scalar", {}), (std::vector<float>{9}));
  EXPECT_TRUE(read(folder / "x", "none", {0, 7}).empty());
  const SafetensorsFile file(folder / "x");
  EXPECT_EQ(file.metadata().at("made by"), "a test");
  for (const StoredTensor& tensor : file.tensors()) {
    if (!tensor.data.empty()) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data.data()) % 4, 0U) << tensor.name;
    }
  }
}

TEST(SafetensorsWriter, GrowsByRows) {
  for (const std::int64_t rows : {0, 1, 12345}) {
    const TempFolder folder;
    SafetensorsWriter writer(folder / "x",
                             {{"first", {1}}, {"pixel_values", {SafetensorsWriter::kGrowing, 1, 2}}});
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto v = static_cast<float>(i);
      writer.write("pixel_values", std::vector<float>{v, -v});
    }
    writer.write("first", std::vector<float>{42});
    writer.finish();
    const auto got = read(folder / "x", "pixel_values", {rows, 1, 2});
    ASSERT_EQ(got.size(), static_cast<std::size_t>(2 * rows));
    if (rows > 0) {
      EXPECT_EQ(got.back(), -static_cast<float>(rows - 1));
    }
    EXPECT_EQ(read(folder / "x", "first", {1}), std::vector<float>{42});
  }
}

TEST(SafetensorsWriter, StoresEachTensorInItsDtypeAndAlignsAll) {
  const TempFolder folder;
  FileDTypes dtypes(DType::f16);
  dtypes.others = {{"levels", DType::i8}, {"odd", DType::i8}, {"scales", DType::f32}};
  SafetensorsWriter writer(folder / "x", {{"levels", {3}}, {"halves", {2}}, {"odd", {1}}, {"scales", {2}}},
                           {}, dtypes);
  writer.write_levels("levels", std::vector<std::int8_t>{-127, 0});
  writer.write("scales", std::vector<float>{0.1F, 2});
  writer.write("halves", std::vector<float>{1, -2});
  writer.write_levels("odd", std::vector<std::int8_t>{5});
  writer.write_levels("levels", std::vector<std::int8_t>{127});
  writer.finish();
  const SafetensorsFile file(folder / "x");
  EXPECT_EQ(file.find("levels")->dtype, "I8");
  EXPECT_EQ(as_text(file.find("levels")->data), std::string_view("\x81\0\x7F", 3));
  EXPECT_EQ(as_text(file.find("odd")->data), "\x05");
  EXPECT_EQ(file.find("halves")->dtype, "F16");
  EXPECT_EQ(read(folder / "x", "halves", {2}), (std::vector<float>{1, -2}));
  EXPECT_EQ(read(folder / "x", "scales", {2}), (std::vector<float>{0.1F, 2}));
  for (const auto& [name, size] : {std::pair("scales", 4U), std::pair("halves", 2U)})
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.find(name)->data.data()) % size, 0U) << name;
}

TEST(SafetensorsWriter, KeepsIntegersAndNumbersApart) {
  const TempFolder folder;
  FileDTypes dtypes;
  dtypes.others = {{"levels", DType::i8}};
  SafetensorsWriter writer(folder / "x", {{"levels", {2}}, {"numbers", {2}}}, {}, dtypes);
  constexpr ErrorCode kMisuse = ErrorCode::invalid_argument;
  EXPECT_ERROR(writer.write("levels", std::vector<float>{1}), kMisuse, "\"levels\"", "integers");
  EXPECT_ERROR(writer.write_levels("numbers", std::vector<std::int8_t>{1}), kMisuse, "\"numbers\"", "F32");
  EXPECT_ERROR(writer.write_levels("levels", std::vector<std::int8_t>{1, 2, 3}), kMisuse, "\"levels\"", "3");
  EXPECT_ERROR(SafetensorsWriter(folder / "y", {{"g", {SafetensorsWriter::kGrowing}}}, {}, dtypes), kMisuse,
               "\"g\"", "dtype");
}

TEST(SafetensorsWriter, RefusesMisuse) {
  const TempFolder folder;
  constexpr std::int64_t kGrowing = SafetensorsWriter::kGrowing;
  constexpr ErrorCode kMisuse = ErrorCode::invalid_argument;
  EXPECT_ERROR(SafetensorsWriter(folder / "x", {{"a", {1}}, {"a", {1}}}), kMisuse, "\"a\"");
  EXPECT_ERROR(SafetensorsWriter(folder / "x", {{"a", {kGrowing}}, {"b", {1}}}), kMisuse, "\"a\"", "last");
  EXPECT_ERROR(SafetensorsWriter(folder / "x", {{"a", {2, kGrowing}}}), kMisuse, "\"a\"");
  EXPECT_ERROR(SafetensorsWriter(folder / "no/x", {}), ErrorCode::output_unwritable, "no/x");

  SafetensorsWriter writer(folder / "x", {{"a", {2}}, {"g", {kGrowing, 2}}});
  EXPECT_ERROR(writer.write("b", std::vector<float>{1}), kMisuse, "\"b\"");
  EXPECT_ERROR(writer.write("a", std::vector<float>{1, 2, 3}), kMisuse, "\"a\"");
  EXPECT_ERROR(writer.finish(), kMisuse, "\"a\"");
  writer.write("a", std::vector<float>{1, 2});
  writer.write("g", std::vector<float>{1});
  EXPECT_ERROR(writer.finish(), kMisuse, "\"g\"");
  EXPECT_FALSE(std::filesystem::exists(folder / "x"));
}

TEST(WriteSafetensors, RoundTrips) {
  const TempFolder folder;
  const float values[6] = {1, 2, 3, 4, 5, 6};
  write_safetensors(folder / "x", {{"logits", {values, {2, 3}}}, {"features", {values, {6}}}},
                    {{"format", "pt"}});
  EXPECT_EQ(read(folder / "x", "logits", {2, 3}), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(SafetensorsFile(folder / "x").tensors().size(), 2U);
  write_safetensors(folder / "empty", {});
  EXPECT_TRUE(SafetensorsFile(folder / "empty").tensors().empty());
}

}  // namespace
}  // namespace vit::io
