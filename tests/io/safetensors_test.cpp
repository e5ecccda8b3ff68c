#include "io/safetensors.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::io {
namespace {

using test::TempFolder;

std::string file(std::string_view header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  bytes += header;
  for (std::size_t i = 0; i < data_bytes; ++i) bytes += static_cast<char>(i);
  return bytes;
}

SafetensorsContent parse(std::string_view bytes) {
  return parse_safetensors(std::as_bytes(std::span(bytes)), "x.safetensors", ErrorCode::weights_invalid);
}

SafetensorsContent parse(std::string_view header, std::size_t data_bytes) {
  return parse(file(header, data_bytes));
}

#define EXPECT_REFUSED(content, ...) \
  EXPECT_ERROR(content, ErrorCode::weights_invalid, "x.safetensors: ", __VA_ARGS__)

constexpr std::string_view kGood =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F16","shape":[3],"data_offsets":[8,14]},)"
    R"("a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}  )";

TEST(Safetensors, ReadsAGoodFile) {
  const std::string bytes = file(kGood, 14);
  const SafetensorsContent content = parse(bytes);
  ASSERT_EQ(content.tensors.size(), 2U);
  EXPECT_EQ(content.tensors[0].name, "a");
  EXPECT_EQ(content.tensors[0].dtype, "F32");
  EXPECT_EQ(content.tensors[0].shape, (Shape{1, 2}));
  EXPECT_EQ(content.tensors[1].float_dtype, DType::f16);
  EXPECT_EQ(content.tensors[1].data.size(), 6U);
  EXPECT_EQ(content.tensors[1].data[0], std::byte{8});
  EXPECT_EQ(content.metadata.at("format"), "pt");
}

TEST(Safetensors, AcceptsWhatTheReferenceAccepts) {
  EXPECT_TRUE(parse("{}", 0).tensors.empty());
  EXPECT_TRUE(parse(R"({"__metadata__":null})", 0).metadata.empty());
  EXPECT_EQ(parse(R"({"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", 4).tensors[0].shape, Shape{});
  // Empty tensors, also two at the same place and with a dimension whose product would overflow behind a 0.
  const auto empty = parse(R"({"a":{"dtype":"F32","shape":[0,4611686018427387904,8],"data_offsets":[0,0]},)"
                           R"("b":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},)"
                           R"("c":{"dtype":"F64","shape":[2,0],"data_offsets":[2,2]}})",
                           2);
  EXPECT_EQ(empty.tensors.size(), 3U);
  EXPECT_TRUE(
      parse(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":[[{}]]}})", 1).tensors.size() == 1);
}

TEST(Safetensors, KnowsEveryType) {
  for (const auto& [name, bytes] :
       std::initializer_list<std::pair<const char*, std::size_t>>{{"F64", 8},
                                                                  {"I64", 8},
                                                                  {"U64", 8},
                                                                  {"C64", 8},
                                                                  {"F32", 4},
                                                                  {"I32", 4},
                                                                  {"U32", 4},
                                                                  {"F16", 2},
                                                                  {"BF16", 2},
                                                                  {"I16", 2},
                                                                  {"U16", 2},
                                                                  {"I8", 1},
                                                                  {"U8", 1},
                                                                  {"BOOL", 1},
                                                                  {"F8_E4M3", 1},
                                                                  {"F8_E5M2", 1},
                                                                  {"F8_E8M0", 1},
                                                                  {"F8_E4M3FNUZ", 1},
                                                                  {"F8_E5M2FNUZ", 1}}) {
    const std::string header = R"({"t":{"dtype":")" + std::string(name) +
                               R"(","shape":[3],"data_offsets":[0,)" + std::to_string(3 * bytes) + "]}}";
    EXPECT_EQ(parse(header, 3 * bytes).tensors[0].dtype, name);
  }
  EXPECT_EQ(parse(R"({"t":{"dtype":"F4","shape":[6],"data_offsets":[0,3]}})", 3).tensors[0].dtype, "F4");
  EXPECT_EQ(parse(R"({"t":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}})", 3).tensors[0].dtype,
            "F6_E2M3");
  EXPECT_EQ(parse(R"({"t":{"dtype":"F6_E3M2","shape":[4],"data_offsets":[0,3]}})", 3).tensors[0].dtype,
            "F6_E3M2");
  EXPECT_REFUSED(parse(R"({"t":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", 1), "\"t\"", "12 bits");
  EXPECT_REFUSED(parse(R"({"t":{"dtype":"F24","shape":[1],"data_offsets":[0,3]}})", 3), "\"t\"", "F24");
  EXPECT_REFUSED(parse(R"({"t":{"dtype":"f32","shape":[1],"data_offsets":[0,4]}})", 4), "\"t\"", "f32");
  EXPECT_REFUSED(parse(R"({"t":{"dtype":5,"shape":[1],"data_offsets":[0,4]}})", 4), "\"t\"", "dtype");
}

TEST(Safetensors, RefusesBadHeaderLengths) {
  EXPECT_REFUSED(parse(""), "empty");
  EXPECT_REFUSED(parse("1234567"), "truncated", "7");
  EXPECT_REFUSED(parse(std::string(8, '\xFF') + "{}"), "18446744073709551615", "100000000");
  std::string too_long = file("{}", 0);
  too_long[0] = 3;
  EXPECT_REFUSED(parse(too_long), "truncated", "11 bytes", "has 10");
  const std::uint64_t over_the_limit = 100'000'001;
  std::string large(8, '\0');
  std::memcpy(large.data(), &over_the_limit, 8);
  EXPECT_REFUSED(parse(large + "{}"), "100000001");
}

TEST(Safetensors, RefusesBadJson) {
  EXPECT_REFUSED(parse(R"( {})", 0), "'{'");
  EXPECT_REFUSED(parse(R"([])", 0), "'{'");
  EXPECT_REFUSED(parse(R"({"a":)", 0), "JSON");
  EXPECT_REFUSED(parse(R"({} x)", 0), "JSON");
  EXPECT_REFUSED(parse("{\"\xFF\":1}", 0), "JSON");
  EXPECT_REFUSED(parse(R"({"t":1})", 0), "\"t\"", "object");
  EXPECT_REFUSED(parse(R"({"__metadata__":[]})", 0), "__metadata__");
  EXPECT_REFUSED(parse(R"({"__metadata__":{"a":1}})", 0), "__metadata__", "\"a\"", "string");
  EXPECT_REFUSED(parse(R"({"x":)" + std::string(5'000'000, '['), 0), "deeper");
}

TEST(Safetensors, RefusesTheSameNameTwice) {
  EXPECT_REFUSED(parse(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                       R"("t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                       1),
                 "\"t\" appears twice");
  EXPECT_REFUSED(parse(R"({"t":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", 1), "twice");
}

TEST(Safetensors, RefusesEntriesWithMissingParts) {
  EXPECT_REFUSED(parse(R"({"t":{"shape":[1],"data_offsets":[0,1]}})", 1), "\"t\"", "\"dtype\" is missing");
  EXPECT_REFUSED(parse(R"({"t":{"dtype":"U8","data_offsets":[0,1]}})", 1), "\"t\"", "\"shape\" is missing");
  EXPECT_REFUSED(parse(R"({"t":{"dtype":"U8","shape":[1]}})", 1), "\"t\"", "\"data_offsets\" is missing");
}

TEST(Safetensors, RefusesBadShapes) {
  for (const char* shape : {"[-1]", "[1.0]", "[1e0]", "[\"1\"]", "[true]", "[null]", "[[1]]", "1", "{}",
                            "[9223372036854775808]", "[99999999999999999999]"}) {
    EXPECT_REFUSED(
        parse(std::string(R"({"t":{"dtype":"U8","shape":)") + shape + R"(,"data_offsets":[0,1]}})", 1),
        "\"t\"", "shape");
  }
}

TEST(Safetensors, RefusesShapesWhoseSizeOverflows) {
  EXPECT_REFUSED(parse(R"({"t":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0),
                 "\"t\"", "overflows");
  EXPECT_REFUSED(parse(R"({"t":{"dtype":"F32","shape":[576460752303423488],"data_offsets":[0,0]}})", 0),
                 "\"t\"",
                 "overflows");  // 2^59 elements, 2^64 bits
  EXPECT_REFUSED(parse(R"({"t":{"dtype":"F32","shape":[4294967296,4294967296,0],"data_offsets":[0,0]}})", 0),
                 "\"t\"", "overflows");
}

TEST(Safetensors, RefusesBadOffsets) {
  for (const char* offsets :
       {"[-8,8]", "[0]", "[0,1,2]", "[0.0,1]", "[\"0\",1]", "1", "[[0,1]]", "[0,1e3]"}) {
    EXPECT_REFUSED(
        parse(std::string(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":)") + offsets + "}}", 1), "\"t\"",
        "data_offsets");
  }
  EXPECT_REFUSED(parse(R"({"t":{"dtype":"U8","shape":[8],"data_offsets":[16,8]}})", 16), "\"t\"",
                 "before it begins");
  EXPECT_REFUSED(parse(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4), "\"t\"",
                 "needs 8 bytes", "hold 4");
  EXPECT_REFUSED(parse(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", 8), "\"t\"",
                 "needs 4 bytes");
}

TEST(Safetensors, RefusesGapsAndOverlaps) {
  constexpr std::string_view kPair =
      R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[)";
  EXPECT_EQ(parse(std::string(kPair) + "4,8]}}", 8).tensors.size(), 2U);
  EXPECT_REFUSED(parse(std::string(kPair) + "5,9]}}", 9), "\"b\"", "gap", "\"a\"");
  EXPECT_REFUSED(parse(std::string(kPair) + "3,7]}}", 7), "\"b\"", "overlaps", "\"a\"");
  EXPECT_REFUSED(parse(std::string(kPair) + "0,4]}}", 4), "overlaps");
  EXPECT_REFUSED(parse(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[1,5]}})", 5), "\"a\"", "gap");
}

TEST(Safetensors, RefusesTooFewAndTooManyBytes) {
  const std::string good = file(kGood, 14);
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_REFUSED(parse(good.substr(0, size)), " ");
  EXPECT_REFUSED(parse(good.substr(0, good.size() - 1)), "truncated",
                 "expected " + std::to_string(good.size()), "has " + std::to_string(good.size() - 1));
  EXPECT_REFUSED(parse(good + "x"), "1 bytes too many");
  EXPECT_REFUSED(parse("{}", 1), "too many");
  EXPECT_REFUSED(parse(R"({"t":{"dtype":"U8","shape":[1099511627776],"data_offsets":[0,1099511627776]}})", 8),
                 "truncated", "1099511627");
}

TEST(Safetensors, RecognisesWhatIsSomethingElse) {
  EXPECT_REFUSED(parse("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 346293852\n"),
                 "Git LFS pointer", "git lfs pull");
  EXPECT_REFUSED(parse("<!DOCTYPE html>\n<html><head></head></html>"), "web page");
  EXPECT_REFUSED(parse("\n\n  <HTML>\n<body>Not found</body></HTML>"), "web page");
  EXPECT_REFUSED(parse(std::string("PK\3\4\0\0\10\10\0\0\0\0\0\0", 14)), "zip", "PyTorch");
  EXPECT_REFUSED(parse("\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19."), "pickle", "PyTorch");
  EXPECT_REFUSED(parse(std::string("GGUF\3\0\0\0\0\0\0\0", 12)), "GGUF");
  EXPECT_REFUSED(parse("\x89HDF\r\n\x1a\n..........."), "HDF5");
}

TEST(SafetensorsFile, FindsAndWidens) {
  const TempFolder folder;
  const float values[2] = {1.5F, -2};
  const std::uint16_t halves[3] = {0x3C00, 0xC000, 0x0001};
  std::string bytes = file(kGood, 0);
  bytes.append(reinterpret_cast<const char*>(values), 8).append(reinterpret_cast<const char*>(halves), 6);
  const SafetensorsFile opened(folder.write("x.safetensors", bytes));
  EXPECT_EQ(opened.find("nothing"), nullptr);
  ASSERT_NE(opened.find("b"), nullptr);
  EXPECT_EQ(opened.read("a").shape(), (Shape{1, 2}));
  EXPECT_EQ(opened.read("a").data()[1], -2);
  opened.release_pages();
  EXPECT_EQ(opened.read("b").data()[1], -2);
  EXPECT_EQ(opened.read("b").data()[2], 0x1p-24F);
  EXPECT_ERROR(opened.read("c"), ErrorCode::weights_invalid, "x.safetensors", "\"c\"", "a, b");
}

TEST(SafetensorsFile, CarriesTheCallersCode) {
  const TempFolder folder;
  EXPECT_ERROR(SafetensorsFile(folder / "no.safetensors", ErrorCode::tensor_invalid),
               ErrorCode::tensor_invalid, "no.safetensors");
  const auto path =
      folder.write("i.safetensors", file(R"({"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})", 8));
  EXPECT_ERROR(SafetensorsFile(path, ErrorCode::tensor_invalid).read("a"), ErrorCode::tensor_invalid,
               "i.safetensors", "\"a\"", "I64");
  EXPECT_ERROR(SafetensorsFile(folder.write("d.safetensors", "junkjunkjunk"), ErrorCode::tensor_invalid),
               ErrorCode::tensor_invalid, "d.safetensors");
}

}  // namespace
}  // namespace vit::io
