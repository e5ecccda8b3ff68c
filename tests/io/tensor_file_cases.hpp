// Files of tests/data/torch and what they hold. For the tests of the formats.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "io/safetensors.hpp"
#include "io/tensor_file.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::io {

inline std::filesystem::path torch_data(const std::string& name) {
  return std::filesystem::path(VITRINE_TEST_DATA) / "torch" / name;
}

inline TensorFileContent parse_bytes(std::string_view bytes, std::string_view name = "x.pth") {
  return parse_tensor_file(std::as_bytes(std::span(bytes)), name);
}

inline const StoredTensor* find(const TensorFileContent& content, std::string_view name) {
  for (const StoredTensor& tensor : content.tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

/// Every tensor has the type, shape and bytes of the one that Python wrote, and there are no others. F64 is
/// F32 there.
inline void expect_same_tensors(const TensorFileContent& content, const std::string& expected_name,
                                const std::set<std::string>& left_out = {}) {
  const SafetensorsFile expected(torch_data(expected_name));
  std::size_t compared = 0;
  for (const StoredTensor& want : expected.tensors()) {
    if (left_out.contains(want.name)) continue;
    SCOPED_TRACE(want.name);
    const StoredTensor* got = find(content, want.name);
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(got->dtype == "F64" ? "F32" : got->dtype, want.dtype);
    EXPECT_EQ(got->float_dtype, want.float_dtype);
    EXPECT_EQ(got->shape, want.shape);
    EXPECT_EQ(as_text(got->data), as_text(want.data));
    ++compared;
  }
  EXPECT_EQ(content.tensors.size(), compared);
  EXPECT_GT(compared, 5U);
}

/// Whatever is cut off or changed, the file is read or refused, and nothing else happens. `step`: bytes from
/// one place to the next.
inline void damage_everywhere(const std::filesystem::path& path, std::size_t step) {
  const std::string good = test::read_text(path);
  const auto survives = [](const std::string& bytes) {
    try {
      std::size_t sum = 0;
      for (const StoredTensor& tensor : parse_bytes(bytes).tensors) {
        for (const std::byte b : tensor.data) sum += static_cast<std::size_t>(b);
      }
      return sum != std::size_t(-1);
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::internal) << error.what();
      return false;
    }
  };
  EXPECT_TRUE(survives(good));
  for (std::size_t size = 0; size < good.size(); size += step)
    EXPECT_FALSE(survives(good.substr(0, size))) << size;
  for (std::size_t at = 0; at < good.size(); at += step) {
    for (const int mask : {0x01, 0x80, 0xFF}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ mask);
      survives(bad);
    }
  }
}

}  // namespace vit::io
