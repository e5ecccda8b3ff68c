#include "vit/backend/layer_norm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "tests/reference/layers.hpp"
#include "tests/support/compare.hpp"
#include "tests/vit/backend/backend_support.hpp"

namespace vit::test {
namespace {

struct NormCase {
  const char* name;
  std::int64_t rows;
  std::int64_t size;
  double mean;
  double sigma;
  float epsilon;
};

std::ostream& operator<<(std::ostream& out, const NormCase& c) {
  return out << c.name;
}

class LayerNormRows : public testing::TestWithParam<NormCase> {};

TEST_P(LayerNormRows, AgreeWithTheFormula) {
  const NormCase& c = GetParam();
  const Tensor src = normal_tensor({c.rows, c.size}, 1, c.sigma, c.mean);
  const Tensor gamma = normal_tensor({c.size}, 2, 0.3, 1);
  const Tensor beta = normal_tensor({c.size}, 3, 0.3);
  const backend::NormParameters parameters({view_of(gamma), view_of(beta)});
  backend::Context context;
  backend::LayerNorm norm(context, c.rows, c.size, c.epsilon);
  Tensor dst({c.rows, c.size});
  norm.run(src.data(), parameters, dst.data());

  const auto expected =
      reference::layer_norm(widened(src), widened(gamma), widened(beta), static_cast<double>(c.epsilon));
  // A few u of its own; the mean is rounded to u of itself, which the division by √(σ² + ε) blows up.
  const double blown_up = std::abs(c.mean) / std::sqrt(c.sigma * c.sigma + static_cast<double>(c.epsilon));
  const Bound bound{(6 + 2 * blown_up) * 0x1p-24};
  EXPECT_TRUE(matches(norm.kernel(), dst.view(), expected.values, bound));

  Tensor in_place = src.clone();
  norm.run(in_place.data(), parameters, in_place.data());
  EXPECT_TRUE(std::equal(in_place.data(), in_place.data() + in_place.size(), dst.data()));
}

INSTANTIATE_TEST_SUITE_P(All, LayerNormRows,
                         testing::Values(NormCase{"one_row", 1, 768, 0, 1, 1e-6F},
                                         NormCase{"one_short_row", 1, 5, 0, 1, 1e-6F},
                                         NormCase{"prime", 3, 13, 0, 1, 1e-12F},
                                         NormCase{"prime_47", 17, 47, 0.5, 2, 1e-5F},
                                         NormCase{"off_centre", 7, 768, 10, 1, 1e-6F},
                                         NormCase{"far_off_centre", 7, 384, 1000, 1, 1e-12F},
                                         NormCase{"eps_big", 4, 100, 0, 1, 0.1F},
                                         NormCase{"variance_1em6_eps_1em12", 5, 48, 0, 1e-3, 1e-12F},
                                         NormCase{"variance_1em6_eps_1em6", 5, 48, 0, 1e-3, 1e-6F},
                                         NormCase{"variance_1em12_eps_1em6", 5, 48, 0, 1e-6, 1e-6F},
                                         NormCase{"huge_values", 5, 48, 0, 1e15, 1e-6F},
                                         NormCase{"many_rows", 1000, 31, 0, 1, 1e-6F}),
                         testing::PrintToStringParamName());

TEST(LayerNorm, ConstantRowsGiveBeta) {
  const Tensor gamma = normal_tensor({31}, 1);
  const Tensor beta = normal_tensor({31}, 2);
  const backend::NormParameters parameters({view_of(gamma), view_of(beta)});
  backend::Context context;
  backend::LayerNorm norm(context, 3, 31, 1e-6F);
  Tensor src({3, 31});
  for (std::int64_t i = 0; i < src.size(); ++i) src.data()[i] = i < 31 ? 0 : i < 62 ? 0.5F : -4096;
  Tensor dst({3, 31});
  norm.run(src.data(), parameters, dst.data());
  for (std::int64_t i = 0; i < dst.size(); ++i) EXPECT_EQ(dst.data()[i], beta.data()[i % 31]) << i;
}

}  // namespace
}  // namespace vit::test
