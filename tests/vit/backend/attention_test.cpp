#include "vit/backend/attention.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <ostream>

#include "tests/reference/layers.hpp"
#include "tests/reference/positions.hpp"
#include "tests/support/compare.hpp"
#include "tests/vit/backend/backend_support.hpp"
#include "tests/vit/backend/typed_rows.hpp"
#include "vit/backend/precision_support.hpp"

namespace vit::backend {

std::ostream& operator<<(std::ostream& out, const AttentionShape& s) {
  return out << s.tokens << "_tokens_" << s.heads << "x" << s.head_size;
}

}  // namespace vit::backend

namespace vit::test {
namespace {

struct AttentionCase {
  backend::AttentionShape shape;
  double score_sigma = 2;
};

std::ostream& operator<<(std::ostream& out, const AttentionCase& c) {
  return out << c.shape << "_sigma_" << static_cast<int>(c.score_sigma);
}

class AttentionLayer : public testing::TestWithParam<AttentionCase> {
 protected:
  const AttentionCase& c = GetParam();
  const backend::AttentionShape shape = c.shape;
  const std::int64_t D = shape.heads * shape.head_size;
  const Tensor qkv = normal_tensor(
      {shape.tokens, 3 * D}, 1, std::sqrt(c.score_sigma / std::sqrt(static_cast<double>(shape.head_size))));

  /// The layer leaves 1/√d to the weights of q, the formula has it.
  reference::AttentionResult expected() const {
    reference::Array all({1, shape.tokens, 3 * D}, widened(qkv).values);
    reference::Array q = reference::columns(all, 0, D);
    for (double& value : q.values) value *= std::sqrt(static_cast<double>(shape.head_size));
    return reference::attention(q, reference::columns(all, D, D), reference::columns(all, 2 * D, D),
                                shape.heads);
  }

  /// The scores are sums of d products, off by √d u of their largest, which moves the probabilities by as
  /// much relatively; each context is a mean of values with those weights.
  Bound bound() const {
    const double largest_score = 5 * c.score_sigma + 1;
    return {4 * (1 + std::sqrt(static_cast<double>(shape.head_size)) * largest_score) * 0x1p-24};
  }
};

TEST_P(AttentionLayer, AgreesWithTheFormula) {
  const reference::AttentionResult wanted = expected();
  backend::Attention attention(shape);
  Tensor result({shape.tokens, D});
  attention.run(qkv.data(), nullptr, result.data());
  EXPECT_TRUE(matches("context", result.view(), wanted.context.values, bound()));

  Tensor maps({shape.heads, shape.tokens, shape.tokens});
  Tensor beside_maps({shape.tokens, D});
  attention.run(qkv.data(), maps.data(), beside_maps.data());
  EXPECT_TRUE(matches("context", beside_maps.view(), wanted.context.values, bound()));
  EXPECT_TRUE(matches("maps", maps.view(), wanted.probs.values, bound()));
}

INSTANTIATE_TEST_SUITE_P(All, AttentionLayer,
                         testing::Values(AttentionCase{{1, 1, 1, 1}}, AttentionCase{{1, 1, 3, 5}},
                                         AttentionCase{{1, 2, 1, 4}}, AttentionCase{{1, 2, 7, 1}},
                                         AttentionCase{{1, 5, 3, 13}}, AttentionCase{{1, 17, 12, 64}},
                                         AttentionCase{{1, 197, 3, 64}}, AttentionCase{{1, 50, 5, 47}},
                                         AttentionCase{{1, 50, 2, 32}, 40}, AttentionCase{{1, 1021, 3, 8}}),
                         testing::PrintToStringParamName());

TEST(Attention, DifferentialOnesSubtractTheSecondMapOfEachHead) {
  constexpr std::int64_t T = 700;  // several tiles, the last one lower
  constexpr std::int64_t h = 6;
  constexpr std::int64_t d = 128;
  constexpr std::int64_t D = h * d;
  const Tensor qkv = normal_tensor({1, T, 3 * D}, 1, std::sqrt(2 / std::sqrt(d / 2.0)));
  reference::Array all = widened(qkv);
  reference::Array q = reference::columns(all, 0, D);
  for (double& value : q.values) value *= std::sqrt(d / 2.0);
  const reference::Array v = reference::columns(all, 2 * D, D);
  const reference::Array maps = reference::attention(q, reference::columns(all, D, D), v, 2 * h).probs;
  std::vector<double> probs;
  for (std::int64_t i = 0; i < h * T * T; ++i) {
    const std::int64_t at = i / (T * T) * 2 * T * T + i % (T * T);
    probs.push_back(maps.values[static_cast<std::size_t>(at)] -
                    0.625 * maps.values[static_cast<std::size_t>(at + T * T)]);
  }
  std::vector<double> context(T * D, 0);
  for (std::int64_t t = 0; t < T; ++t) {
    for (std::int64_t key = 0; key < T; ++key) {
      for (std::int64_t i = 0; i < D; ++i)
        context[static_cast<std::size_t>(t * D + i)] +=
            probs[static_cast<std::size_t>((i / d * T + t) * T + key)] * v(0, key, i);
    }
  }
  // As AttentionLayer's bound, for two maps; their difference is no larger than they are.
  const Bound bound{2 * 4 * (1 + std::sqrt(d / 2.0) * (5 * 2 + 1)) * 0x1p-24};
  backend::Attention attention({.tokens = T, .heads = h, .head_size = d, .maps = 2});
  for (const bool whole_maps : {false, true}) {
    Tensor kept({h, T, T});
    Tensor result({T, D});
    attention.run(qkv.data(), whole_maps ? kept.data() : nullptr, result.data(), {nullptr, 0.625F});
    EXPECT_TRUE(matches("context", result.view(), context, bound)) << whole_maps;
    if (!whole_maps) continue;
    EXPECT_TRUE(matches("maps", kept.view(), probs, bound));
  }
}

/// Keys that count several times are keys that are there several times.
TEST(Attention, WeighsKeysByTheirSizes) {
  constexpr std::int64_t B = 2;
  constexpr std::int64_t T = 330;  // several tiles
  constexpr std::int64_t h = 3;
  constexpr std::int64_t d = 16;
  constexpr std::int64_t D = h * d;
  const Tensor qkv = normal_tensor({B, T, 3 * D}, 1, std::sqrt(2 / std::sqrt(d * 1.0)));
  Tensor sizes({B, T});
  for (std::int64_t i = 0; i < B * T; ++i) sizes.data()[i] = static_cast<float>(1 + i * i % 9);
  const reference::Array all = widened(qkv);
  reference::Array q = reference::columns(all, 0, D);
  for (double& value : q.values) value *= std::sqrt(d * 1.0);
  const reference::Array wanted =
      reference::attention(q, reference::columns(all, D, D), reference::columns(all, 2 * D, D), h,
                           {{}, widened(sizes)})
          .context;
  backend::Attention attention({.batch = B, .tokens = T, .heads = h, .head_size = d});
  Tensor result({B, T, D});
  attention.run(qkv.data(), nullptr, result.data(), {.sizes = sizes.data()});
  const Bound bound{4 * (1 + std::sqrt(d * 1.0) * 11) * 0x1p-24};  // AttentionLayer's
  EXPECT_TRUE(matches("context", result.view(), wanted.values, bound));

  // The same for one query; the keys of the first two tokens are not looked at.
  backend::LatentAttention latent({.batch = B, .tokens = T - 2, .heads = h, .head_size = d}, 2);
  Tensor kv({B, T, 2 * D});
  for (std::int64_t i = 0; i < kv.size(); ++i)
    kv.data()[i] = qkv.data()[i / (2 * D) * 3 * D + D + i % (2 * D)];
  Tensor pooled({B, D});
  latent.run(qkv.data(), kv.data(), pooled.data(), sizes.data());
  std::vector<double> expected;
  for (std::int64_t b = 0; b < B; ++b) {
    reference::Array query({1, T - 2, D});  // the first token's, of the first image
    for (std::size_t i = 0; i < query.values.size(); ++i) query.values[i] = q.values[i % D];
    reference::Array k({1, T - 2, D});
    reference::Array v({1, T - 2, D});
    reference::Array of_image({1, T - 2});
    for (std::int64_t t = 0; t < T - 2; ++t) {
      of_image(0, t) = static_cast<double>(sizes.data()[b * T + t + 2]);
      for (std::int64_t i = 0; i < D; ++i) {
        k(0, t, i) = all(b, t + 2, D + i);
        v(0, t, i) = all(b, t + 2, 2 * D + i);
      }
    }
    const reference::Array context = reference::attention(query, k, v, h, {{}, of_image}).context;
    expected.insert(expected.end(), context.values.begin(), context.values.begin() + D);
  }
  EXPECT_TRUE(matches("pooled", pooled.view(), expected, bound));
}

struct TypesCase {
  const char* name;
  backend::AttentionTypes types;
};

std::ostream& operator<<(std::ostream& out, const TypesCase& c) {
  return out << c.name;
}

class AttentionRounded : public testing::TestWithParam<TypesCase> {
 protected:
  void SetUp() override {
    if (!backend::has_precision(Precision::bf16)) GTEST_SKIP() << "this processor has no bf16";
  }

  /// The formula on q, k and v as the products read them. q lacks 1/√d, the formula has it.
  static reference::AttentionResult expected(const TypedRows& rounded, const backend::AttentionShape& s,
                                             const reference::Array& bias = {}) {
    const std::int64_t D = s.heads * s.head_size;
    reference::Array all({s.batch, s.tokens, 3 * D}, rounded.widened().values);
    reference::Array q = reference::columns(all, 0, D);
    for (double& value : q.values) value *= std::sqrt(static_cast<double>(s.head_size));
    return reference::attention(q, reference::columns(all, D, D), reference::columns(all, 2 * D, D), s.heads,
                                {bias});
  }

  const backend::AttentionTypes types = GetParam().types;
};

// The scores are sums in f32, so the maps are as exact as those of f32. Of the context two things are
// rounded: each weight, by 2⁻⁸ of itself at most, which the division by the sum of the rounded ones can
// double; and the result, if it is bf16.
TEST_P(AttentionRounded, AgreesWithTheFormula) {
  const double stored = types.context == ValueType::bf16 ? 0x1p-8 : 0;
  for (const backend::AttentionShape& s :
       {backend::AttentionShape{1, 1, 1, 1}, backend::AttentionShape{2, 17, 3, 64},
        backend::AttentionShape{1, 197, 2, 64}, backend::AttentionShape{3, 50, 5, 47},
        backend::AttentionShape{1, 1021, 1, 32}}) {
    const std::int64_t D = s.heads * s.head_size;
    const Tensor qkv = normal_tensor({s.batch * s.tokens, 3 * D}, 1,
                                     std::sqrt(2 / std::sqrt(static_cast<double>(s.head_size))));
    const TypedRows given(qkv, 3 * D, types.qkv);
    const TypedRows rounded(qkv, 3 * D, types.products);
    const reference::AttentionResult wanted = expected(rounded, s);
    const double scores = 4 * (1 + std::sqrt(static_cast<double>(s.head_size)) * 11) * 0x1p-24;
    backend::Attention attention(s, types);
    for (const bool whole_maps : {false, true}) {
      Tensor maps({s.batch, s.heads, s.tokens, s.tokens});
      const TypedRows context(s.batch * s.tokens, D, types.context);
      attention.run(given.values(), whole_maps ? maps.data() : nullptr, context.values());
      EXPECT_TRUE(matches("context", context.narrowed().view(), wanted.context.values,
                          {scores + 2 * 0x1p-8 + stored}))
          << s << ", maps " << whole_maps;
      if (!whole_maps) continue;
      EXPECT_TRUE(matches("maps", maps.view(), wanted.probs.values, {scores})) << s;
    }
  }
}

TEST_P(AttentionRounded, AddsRelativePositions) {
  constexpr Size2 kGrid{13, 9};
  const backend::AttentionShape s{2, 1 + 13 * 9, 3, 16};
  const std::int64_t D = s.heads * s.head_size;
  const Tensor table = normal_tensor({25 * 17 + 3, s.heads}, 3);
  ModelConfig config;
  config.image_size = kGrid;
  config.patch_size = {1, 1};
  config.num_heads = s.heads;
  const Tensor qkv = normal_tensor({s.batch * s.tokens, 3 * D}, 1, std::sqrt(2 / 4.0));
  const TypedRows given(qkv, 3 * D, types.qkv);
  const TypedRows rounded(qkv, 3 * D, types.products);
  const auto wanted = expected(rounded, s, reference::relative_bias(config, widened(table), kGrid));
  const backend::RelativeBias bias(table, kGrid);
  backend::Attention attention(s, types);
  Tensor maps({s.batch, s.heads, s.tokens, s.tokens});
  const TypedRows context(s.batch * s.tokens, D, types.context);
  attention.run(given.values(), maps.data(), context.values(), {&bias, 0});
  const double scores = 4 * (1 + 4 * 16.0) * 0x1p-24;
  EXPECT_TRUE(matches("maps", maps.view(), wanted.probs.values, {scores}));
  EXPECT_TRUE(matches("context", context.narrowed().view(), wanted.context.values, {scores + 3 * 0x1p-8}));
}

TEST_P(AttentionRounded, DifferentialOnes) {
  const backend::AttentionShape s{.batch = 2, .tokens = 70, .heads = 3, .head_size = 32, .maps = 2};
  const std::int64_t D = s.heads * s.head_size;
  const Tensor qkv = normal_tensor({s.batch * s.tokens, 3 * D}, 1, std::sqrt(2 / 4.0));
  const TypedRows given(qkv, 3 * D, types.qkv);
  const TypedRows rounded(qkv, 3 * D, types.products);
  // Twice as many heads of half the size; v of each of them is of no interest.
  const auto halves = expected(rounded, {s.batch, s.tokens, 2 * s.heads, s.head_size / 2});
  const reference::Array v = reference::columns(rounded.widened(), 2 * D, D);
  reference::Array probs({s.batch, s.heads, s.tokens, s.tokens});
  reference::Array context({s.batch, s.tokens, D});
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      for (std::int64_t t = 0; t < s.tokens; ++t) {
        for (std::int64_t key = 0; key < s.tokens; ++key) {
          const double p = halves.probs(b, 2 * h, t, key) - 0.625 * halves.probs(b, 2 * h + 1, t, key);
          probs(b, h, t, key) = p;
          for (std::int64_t i = 0; i < s.head_size; ++i)
            context(b, t, h * s.head_size + i) += p * v(b * s.tokens + key, h * s.head_size + i);
        }
      }
    }
  }
  backend::Attention attention(s, types);
  for (const bool whole_maps : {false, true}) {
    Tensor maps({s.batch, s.heads, s.tokens, s.tokens});
    const TypedRows result(s.batch * s.tokens, D, types.context);
    attention.run(given.values(), whole_maps ? maps.data() : nullptr, result.values(), {nullptr, 0.625F});
    const double scores = 2 * 4 * (1 + 4 * 11) * 0x1p-24;
    EXPECT_TRUE(matches("context", result.narrowed().view(), context.values, {scores + 3 * 0x1p-8}));
    if (!whole_maps) continue;
    EXPECT_TRUE(matches("maps", maps.view(), probs.values, {scores}));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, AttentionRounded,
    testing::Values(TypesCase{"f32", {}},
                    TypesCase{"products", {ValueType::f32, ValueType::bf16, ValueType::f32}},
                    TypesCase{"all", {ValueType::bf16, ValueType::bf16, ValueType::bf16}},
                    TypesCase{"all_but_context", {ValueType::bf16, ValueType::bf16, ValueType::f32}}),
    testing::PrintToStringParamName());

/// Of this process, in bytes.
std::int64_t resident() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t all = 0;
  std::int64_t pages = 0;
  statm >> all >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

TEST(Attention, MemoryGrowsWithTheTokensNotTheirSquare) {
  constexpr std::int64_t T = 5000;
  const backend::AttentionShape shape{.tokens = T, .heads = 2, .head_size = 64};
  const Tensor qkv = normal_tensor({T, 3 * 128}, 1, 0.5);
  Tensor result = normal_tensor({T, 128}, 2);  // touched
  const std::int64_t before = resident();
  backend::Attention attention(shape);
  attention.run(qkv.data(), nullptr, result.data());
  constexpr std::int64_t kMaps = 2 * T * T * 4;
  EXPECT_LT(resident() - before, kMaps / 6);
}

}  // namespace
}  // namespace vit::test
