#include "io/npz_file.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>

#include "tests/io/tensor_file_cases.hpp"

namespace vit::io {
namespace {

using namespace std::string_literals;

std::string npy(const std::string& header, const std::string& data, char version = 1) {
  std::string length(version == 1 ? 2 : 4, '\0');
  length[0] = static_cast<char>(header.size());
  length[1] = static_cast<char>(header.size() >> 8);
  return "\x93NUMPY"s + version + '\0' + length + header + data;
}

StridedTensor parse(const std::string& bytes) {
  return parse_npy(std::as_bytes(std::span(bytes)));
}

/// What it says is wrong; empty if nothing.
std::string refusal(const std::string& bytes) {
  try {
    parse(bytes);
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

#define EXPECT_REFUSED(bytes, part) EXPECT_NE(refusal(bytes).find(part), std::string::npos) << refusal(bytes)

TEST(Npz, ReadsArrays) {
  for (const char* name : {"plain.npz", "deflated.npz"}) {
    SCOPED_TRACE(name);
    const std::string bytes = test::read_text(torch_data(name));
    TensorFileContent content = parse_bytes(bytes);
    std::erase_if(content.tensors, [](const StoredTensor& tensor) { return tensor.name == "text"; });
    expect_same_tensors(content, "expected_npz.safetensors");
  }
}

TEST(Npz, ListsWhatIsNoNumber) {
  const std::string bytes = test::read_text(torch_data("plain.npz"));
  const TensorFileContent content = parse_bytes(bytes);
  const StoredTensor* text = find(content, "text");
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(text->dtype, "<U2");
  EXPECT_FALSE(text->float_dtype);
  EXPECT_EQ(text->data.size(), 16U);
}

TEST(Npz, RefusesObjects) {
  EXPECT_ERROR(parse_bytes(test::read_text(torch_data("bad_objects.npz"))), ErrorCode::weights_invalid,
               "x.npy", "Python objects");
}

TEST(Npz, SurvivesAnyDamage) {
  damage_everywhere(torch_data("plain.npz"), 3);
  damage_everywhere(torch_data("deflated.npz"), 3);
}

constexpr const char* kHeader = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n";

TEST(Npy, ReadsHeaders) {
  const std::string data(24, 'x');
  for (const char version : {'\1', '\2', '\3'}) {
    const StridedTensor array = parse(npy(kHeader, data, version));
    EXPECT_EQ(array.type.name, "F32");
    EXPECT_EQ(array.shape, (Shape{2, 3}));
    EXPECT_EQ(array.strides, (Shape{3, 1}));
    EXPECT_EQ(array.storage.size(), 24U);
  }
  EXPECT_EQ(parse(npy("{'descr':'<f4','fortran_order':True,'shape':(2,3)}", data)).strides, (Shape{1, 2}));
  EXPECT_EQ(parse(npy("{\"shape\": (6L,), \"fortran_order\": False, \"descr\": \"<f4\"}", data)).shape,
            (Shape{6}));
  EXPECT_EQ(parse(npy("{'descr': '|u1', 'fortran_order': False, 'shape': ()}", "x")).shape, Shape{});
  EXPECT_EQ(parse(npy("{'descr': '|S24', 'fortran_order': False, 'shape': ()}", data)).type.size, 24U);
}

TEST(Npy, RefusesOtherHeaders) {
  const auto with = [](const std::string& descr, const std::string& shape, const std::string& more = "") {
    return npy("{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + more + "}", "1234");
  };
  EXPECT_EQ(refusal(with("'<f4'", "(1,)")), "");
  EXPECT_REFUSED(with("'>f4'", "(1,)"), "big-endian");
  EXPECT_REFUSED(with("'|O'", "(1,)"), "Python objects");
  EXPECT_REFUSED(with("[('a', '<f4')]", "(1,)"), "records");
  EXPECT_REFUSED(with("'<f16'", "(1,)"), "\"<f16\"");
  EXPECT_REFUSED(with("'|V0'", "(1,)"), "|V0");
  EXPECT_REFUSED(with("'|V99999999999999999999'", "(1,)"), "|V9999");
  EXPECT_REFUSED(with("''", "(1,)"), "type");
  EXPECT_REFUSED(with("'<f4'", "(-1,)"), "shape");
  EXPECT_REFUSED(with("'<f4'", "(1.5,)"), "expected");
  EXPECT_REFUSED(with("'<f4'", "1"), "expected \"(\"");
  EXPECT_REFUSED(with("'<f4'", "(99999999999999999999,)"), "shape");
  EXPECT_REFUSED(with("'<f4'", "(4294967296, 4294967296)"), "overflows");
  EXPECT_REFUSED(with("'<f4'", "(2,)"), "needs 8 bytes, and 4");
  EXPECT_REFUSED(with("'<f4'", "()", ", 'more': 1"), "\"more\"");
  EXPECT_REFUSED(with("'<f4'", "(1,)", ", 'shape': (1,)"), "once each");
  EXPECT_REFUSED(with("'<f4'", "(1,)", "} + {"), "follows");
  EXPECT_REFUSED(npy("{'descr': '<f4', 'shape': (1,)}", "1234"), "needs descr");
  EXPECT_REFUSED(npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}", "1234"), "False");
  EXPECT_REFUSED(npy("{'descr", "1234"), "does not end");
  EXPECT_REFUSED(npy("", "1234"), "expected \"{\"");
  EXPECT_REFUSED(npy(kHeader, std::string(24, 'x'), 4), "version 4");
  EXPECT_REFUSED("PK\3\4", "no NumPy array");
  const std::string good = npy(kHeader, std::string(24, 'x'), 2);
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_NE(refusal(good.substr(0, size)), "") << size;
}

}  // namespace
}  // namespace vit::io
