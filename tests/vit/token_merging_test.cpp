// The merging by itself against the naive one in double precision.
#include "vit/token_merging.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <ostream>

#include "tests/reference/token_merging.hpp"
#include "tests/support/bf16_value.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/random.hpp"
#include "vit/backend/context.hpp"

namespace vit {

std::ostream& operator<<(std::ostream& out, const MergeShape& s) {
  return out << s.batch << "_of_" << s.tokens << "_prefix_" << s.prefix << "_merged_" << s.merged << "_heads_"
             << s.heads << "x" << s.head_size;
}

}  // namespace vit

namespace vit::test {
namespace {

reference::Array widened(const Tensor& tensor) {
  return {tensor.shape(), {tensor.elements().begin(), tensor.elements().end()}};
}

/// The keys of qkv [B, T, 3 D].
reference::Array keys_of(const Tensor& qkv) {
  const std::int64_t D = qkv.shape()[2] / 3;
  reference::Array keys({qkv.shape()[0], qkv.shape()[1], D});
  for (std::int64_t i = 0; i < element_count(keys.shape); ++i)
    keys.values[static_cast<std::size_t>(i)] = static_cast<double>(qkv.data()[i / D * 3 * D + D + i % D]);
  return keys;
}

/// Whole numbers from 1 on; 1 of the prefix tokens.
Tensor some_sizes(const MergeShape& s) {
  Tensor sizes({s.batch, s.tokens});
  for (std::int64_t i = 0; i < sizes.size(); ++i)
    sizes.data()[i] = i % s.tokens < s.prefix ? 1 : static_cast<float>(1 + i * i % 5);
  return sizes;
}

struct Result {
  Tensor x;
  Tensor sizes;
};

Result merge(const MergeShape& s, ConstValues qkv, Tensor& x, Tensor& sizes, int threads = 1) {
  const TokenMerging merging(s);
  MergeBuffers buffers = merging.buffers();
  Result result{Tensor({s.batch, s.left(), s.width()}), Tensor({s.batch, s.left()})};
  const backend::ThreadScope scope(threads);
  merging.run(qkv, {x.data(), sizes.data()}, {result.x.data(), result.sizes.data()}, buffers);
  return result;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::equal(a.data(), a.data() + a.size(), b.data());
}

class TokenMergings : public testing::TestWithParam<MergeShape> {
 protected:
  const MergeShape& s = GetParam();
  const Tensor qkv = normal_tensor({s.batch, s.tokens, 3 * s.width()}, 1);
  Tensor x = normal_tensor({s.batch, s.tokens, s.width()}, 2);
  Tensor sizes = some_sizes(s);
};

// A mean of a few tokens: each takes three roundings.
TEST_P(TokenMergings, AgreeWithTheReference) {
  const Result got = merge(s, qkv.data(), x, sizes);
  const reference::MergedTokens expected =
      reference::merge_tokens(widened(x), widened(sizes), keys_of(qkv), {s.heads, s.prefix, s.merged});
  EXPECT_TRUE(matches("sizes", got.sizes.view(), expected.sizes.values, {0}));
  EXPECT_TRUE(matches("x", got.x.view(), expected.x.values, {20 * 0x1p-24}));
}

TEST_P(TokenMergings, DoNotDependOnThreads) {
  const Result one = merge(s, qkv.data(), x, sizes, 1);
  for (const int threads : {2, 3, 5}) {
    const Result more = merge(s, qkv.data(), x, sizes, threads);
    EXPECT_TRUE(same_bits(one.x, more.x)) << threads;
    EXPECT_TRUE(same_bits(one.sizes, more.sizes)) << threads;
  }
}

TEST_P(TokenMergings, LeavePrefixTokensWhereTheyAreAndLoseNoPatch) {
  const Result got = merge(s, qkv.data(), x, sizes);
  for (std::int64_t b = 0; b < s.batch; ++b) {
    const std::int64_t floats = s.prefix * s.width();
    const float* const before = x.data() + b * s.tokens * s.width();
    EXPECT_TRUE(std::equal(before, before + floats, got.x.data() + b * s.left() * s.width()));
    double all = 0;
    double left = 0;
    for (std::int64_t t = 0; t < s.tokens; ++t) all += static_cast<double>(sizes.data()[b * s.tokens + t]);
    for (std::int64_t t = 0; t < s.left(); ++t) {
      left += static_cast<double>(got.sizes.data()[b * s.left() + t]);
      if (t < s.prefix) {
        EXPECT_EQ(got.sizes.data()[b * s.left() + t], 1);
      }
    }
    EXPECT_EQ(all, left);
  }
}

TEST_P(TokenMergings, ReadBf16Keys) {
  Tensor rounded({s.batch, s.tokens, 3 * s.width()});
  std::vector<std::uint16_t> halves;
  for (std::int64_t i = 0; i < qkv.size(); ++i) {
    halves.push_back(rounded_to_bf16(qkv.data()[i]));
    rounded.data()[i] = bf16_value(halves.back());
  }
  const Result expected = merge(s, rounded.data(), x, sizes);
  const Result got = merge(s, {halves.data(), ValueType::bf16, nullptr}, x, sizes);
  EXPECT_TRUE(same_bits(got.x, expected.x));
  EXPECT_TRUE(same_bits(got.sizes, expected.sizes));
}

INSTANTIATE_TEST_SUITE_P(All, TokenMergings,
                         testing::Values(MergeShape{1, 2, 0, 1, 1, 3}, MergeShape{1, 3, 1, 1, 2, 5},
                                         MergeShape{1, 4, 2, 1, 1, 8}, MergeShape{1, 4, 1, 1, 3, 4},
                                         MergeShape{2, 9, 0, 4, 3, 4}, MergeShape{2, 9, 0, 2, 3, 4},
                                         MergeShape{3, 20, 1, 9, 2, 16}, MergeShape{3, 21, 1, 10, 2, 16},
                                         MergeShape{2, 22, 5, 8, 3, 7}, MergeShape{2, 23, 5, 9, 3, 7},
                                         MergeShape{2, 24, 2, 11, 1, 64}, MergeShape{1, 197, 1, 13, 6, 64},
                                         MergeShape{2, 198, 2, 98, 3, 64}, MergeShape{2, 261, 5, 16, 6, 80}),
                         testing::PrintToStringParamName());

// Everything is equally like everything: what then happens is fixed.
TEST(TokenMerging, TakesTheFirstOfTies) {
  const MergeShape s{1, 9, 1, 2, 1, 2};
  Tensor qkv({1, 9, 6});
  std::fill_n(qkv.data(), qkv.size(), 0.5F);
  Tensor x({1, 9, 2});
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i / 2);  // the token's number
  Tensor sizes({1, 9});
  std::fill_n(sizes.data(), 9, 1.0F);
  const Result got = merge(s, qkv.data(), x, sizes);
  const std::vector<double> numbers{0, 6, 8, (1 + 2 + 4) / 3.0, 3, 5, 7};  // 2 and 4 have joined 1
  std::vector<double> expected;
  for (const double number : numbers) expected.insert(expected.end(), {number, number});
  EXPECT_TRUE(matches("x", got.x.view(), expected, {1e-7}));
}

TEST(TokenMerging, WithoutPrefixTokensTheMostAlikeOfThoseLeftComeFirst) {
  const MergeShape s{1, 6, 0, 1, 1, 2};
  Tensor qkv({1, 6, 6});
  const float angles[] = {0.3F, 0, 1.2F, 1, 2, 1.9F};  // 0 and 1 are 0.3 apart, 2 and 3 0.2, 4 and 5 0.1
  for (std::int64_t t = 0; t < 6; ++t) {
    qkv.data()[t * 6 + 2] = std::cos(angles[t]);
    qkv.data()[t * 6 + 3] = std::sin(angles[t]);
  }
  Tensor x({1, 6, 2});
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i / 2);
  Tensor sizes({1, 6});
  std::fill_n(sizes.data(), 6, 1.0F);
  const Result got = merge(s, qkv.data(), x, sizes);
  EXPECT_TRUE(matches("x", got.x.view(), std::vector<double>{2, 2, 0, 0, 1, 1, 3, 3, 4.5, 4.5}, {0}));
}

// Keys without a direction are like nothing; keys that are no numbers end in no other token.
TEST(TokenMerging, TakesAnyKeys) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {0.0F, kNaN, std::numeric_limits<float>::infinity(), 3e38F, 1e-40F}) {
    for (const bool everywhere : {false, true}) {
      const MergeShape s{1, 21, 1, 5, 2, 16};
      Tensor qkv = normal_tensor({1, 21, 96}, 1);
      for (std::int64_t t = 0; t < 21; ++t)
        if (everywhere || t == 4 || t == 7) std::fill_n(qkv.data() + t * 96, 96, bad);
      Tensor x = normal_tensor({1, 21, 32}, 2);
      Tensor sizes({1, 21});
      std::fill_n(sizes.data(), 21, 1.0F);
      const Result got = merge(s, qkv.data(), x, sizes);
      double left = 0;
      for (const float size : got.sizes.elements()) left += static_cast<double>(size);
      EXPECT_EQ(left, 21);
      for (const float value : got.x.elements()) EXPECT_TRUE(std::isfinite(value));
    }
  }
}

}  // namespace
}  // namespace vit::test
