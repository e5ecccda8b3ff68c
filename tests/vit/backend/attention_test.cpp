#include "vit/backend/attention.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <ostream>

#include "tests/reference/layers.hpp"
#include "tests/support/compare.hpp"
#include "tests/vit/backend/backend_support.hpp"

namespace vit::test {
namespace {

std::ostream& operator<<(std::ostream& out, const backend::AttentionShape& s) {
  return out << s.tokens << "_tokens_" << s.heads << "x" << s.head_size;
}

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
