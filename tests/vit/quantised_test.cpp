// 8-bit weights: how they are rounded, and that stored ones give the network the very numbers of fresh ones.
#include "vit/quantised.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "tests/support/expect_error.hpp"
#include "tests/vit/network_cases.hpp"
#include "vit/session.hpp"

namespace vit::test {
namespace {

template <class T>
const std::byte* bytes(const T* values) {
  return reinterpret_cast<const std::byte*>(values);
}

WeightView f32_view(const std::vector<float>& values, const Shape& shape) {
  return {shape, {{bytes(values.data()), DType::f32, element_count(shape)}}};
}

std::vector<int> levels_of(const QuantisedMatrix& matrix) {
  return {matrix.levels.begin(), matrix.levels.end()};
}

TEST(Quantise, GivesEachRowItsOwnScale) {
  const std::vector<float> values{1, -2, 0.5F, 254, 127, -1, 0, 0, 0};
  const QuantisedMatrix matrix = quantise(f32_view(values, {3, 3}));
  EXPECT_EQ(matrix.scales, (std::vector<float>{2.0F / 127, 2, 1}));
  // 63.5 and 31.75 levels: ties to even, as the processor rounds; −1 is half a level of 2.
  EXPECT_EQ(levels_of(matrix), (std::vector<int>{64, -127, 32, 127, 64, 0, 0, 0, 0}));
}

TEST(Quantise, IsNowhereOffByMoreThanHalfALevel) {
  constexpr std::int64_t kRows = 7;
  constexpr std::int64_t kColumns = 501;
  std::vector<float> values(kRows * kColumns);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<float>(i * i % 1009)) * std::ldexp(1.0F, static_cast<int>(i % 11) - 5);
  const QuantisedMatrix matrix = quantise(f32_view(values, {kRows, kColumns}));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float scale = matrix.scales[i / kColumns];
    ASSERT_LE(std::abs(static_cast<float>(matrix.levels[i]) * scale - values[i]), 0.50001F * scale) << i;
  }
}

TEST(Quantise, ShowsNaNAndInfinityInTheScale) {
  const float infinity = std::numeric_limits<float>::infinity();
  const QuantisedMatrix matrix = quantise(f32_view({1, std::nanf(""), -infinity, 2, 3, 4}, {3, 2}));
  EXPECT_TRUE(std::isnan(matrix.scales[0]));
  EXPECT_TRUE(std::isnan(matrix.scales[1]));
  EXPECT_EQ(matrix.scales[2], 4.0F / 127);
}

TEST(Quantise, RowsOfTheSmallestNumbersHaveAScaleThatDividesThem) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const QuantisedMatrix matrix = quantise(f32_view({tiny, -tiny, 1e-37F, -1e-37F}, {2, 2}));
  for (const float scale : matrix.scales) EXPECT_GE(scale, std::numeric_limits<float>::min());
  EXPECT_EQ(levels_of(matrix), (std::vector<int>{0, 0, 9, -9}));
}

TEST(Quantise, TakesStoredIntegersAsTheyAre) {
  const std::int8_t levels[6] = {1,    -2, 3,
                                 -128, 5,  6};  // no row reaches ±127: rounding anew would change all
  const float scales[2] = {0.25F, 3};
  const WeightView view{{2, 3}, {{bytes(levels), DType::i8, 6, 0, scales}}};
  const QuantisedMatrix matrix = quantise(view);
  EXPECT_EQ(matrix.levels.data(), levels);  // where they lie
  EXPECT_EQ(matrix.scales, (std::vector<float>{0.25F, 3}));

  const std::vector<float> plain{127, -1, 0, 254, 2, -254};
  WeightView mixed = f32_view(plain, {4, 3});
  mixed.parts = {{bytes(plain.data()), DType::f32, 3},
                 {bytes(levels), DType::i8, 6, 0, scales},
                 {bytes(plain.data() + 3), DType::f32, 3}};
  const QuantisedMatrix all = quantise(mixed);
  EXPECT_EQ(levels_of(all), (std::vector<int>{127, -1, 0, 1, -2, 3, -128, 5, 6, 127, 1, -127}));
  EXPECT_EQ(all.scales, (std::vector<float>{1, 0.25F, 3, 2}));
}

TEST(Quantise, TurnsTransposedPartsAround) {
  const std::vector<float> values{127, 254, 1, 4, 0, -254};  // [3, 2] of a matrix [2, 3]
  const WeightView view{{2, 3}, {{bytes(values.data()), DType::f32, 6, 2}}};
  const QuantisedMatrix matrix = quantise(view);
  EXPECT_EQ(levels_of(matrix), (std::vector<int>{127, 1, 0, 127, 2, -127}));
  EXPECT_EQ(matrix.scales, (std::vector<float>{1, 2}));
}

TEST(QuantisedWeights, AreTheNumbersThatTheyStandFor) {
  const std::int8_t levels[8] = {1, -2, 3, -127, 5, 6, -7, 127};
  const float scales[4] = {0.5F, 3, 1, 0.25F};
  const WeightView view{{4, 2}, {{bytes(levels), DType::i8, 8, 0, scales}}};
  const Tensor all = view.to_tensor();
  const std::vector<float> expected{0.5F, -1, 9, -381, 5, 6, -1.75F, 31.75F};
  EXPECT_EQ(std::vector<float>(all.data(), all.data() + 8), expected);
  const Tensor middle = view.rows(1, 2).to_tensor();
  EXPECT_EQ(std::vector<float>(middle.data(), middle.data() + 4), (std::vector<float>{9, -381, 5, 6}));
}

TEST(QuantisedWeights, NeedScales) {
  const std::int8_t levels[4] = {};
  const float scale = 1;
  const WeightView none{{2, 2}, {{bytes(levels), DType::i8, 4}}};
  const WeightView half_a_row{{2, 2},
                              {{bytes(levels), DType::i8, 3, 0, &scale}, {bytes(&scale), DType::f32, 1}}};
  for (const WeightView& view : {none, half_a_row})
    EXPECT_ERROR(view.to_tensor(), ErrorCode::internal, "scales");
}

TEST(QuantisedWeights, AreTheBlocksMatrices) {
  for (const char* name :
       {"blocks.3.attn.qkv.weight", "blocks.0.twin.mlp.fc2.weight", "blocks.0.out_proj.weight"})
    EXPECT_TRUE(is_quantisable(name, {6, 2})) << name;
  EXPECT_FALSE(is_quantisable("blocks.3.norm1.weight", {6}));
  EXPECT_FALSE(is_quantisable("blocks.3.attn.relative_position_bias_table", {6, 2}));
  for (const char* name : {"head.weight", "pooler.dense.weight", "attn_pool.kv.weight"})
    EXPECT_FALSE(is_quantisable(name, {6, 2})) << name;
}

// ------------------------------------------------------------------------------------------------ in a
// network

/// The same weights with the blocks' matrices as integers, in three parts each, as q, k and v may be.
Weights quantised(const ModelConfig& config, Weights weights) {
  struct Storage {
    std::vector<QuantisedMatrix> matrices;
    std::shared_ptr<const void> rest;
  };
  auto storage = std::make_shared<Storage>();
  storage->rest = weights.storage;
  for_each_tensor(config, weights, [&](const TensorSpec& spec, WeightView& view) {
    if (!is_quantisable(spec.name, spec.shape)) return;
    storage->matrices.push_back(quantise(view));
    const QuantisedMatrix& matrix = storage->matrices.back();
    const std::int64_t rows = spec.shape.front();
    view.parts.clear();
    for (std::int64_t part = 0, begin = 0; part < 3; ++part) {
      const std::int64_t count = part < 2 ? rows / 3 : rows - begin;
      view.parts.push_back({bytes(matrix.levels.data() + begin * view.row_size()), DType::i8,
                            count * view.row_size(), 0, matrix.scales.data() + begin});
      begin += count;
    }
  });
  weights.storage = std::move(storage);
  return weights;
}

std::vector<float> last_states(std::shared_ptr<const Model> model, const NetworkCase& c) {
  Session session(std::move(model), {.batch = c.batch, .image_size = c.image});
  const Tensor pixels = pixel_values(c);
  const ConstTensorView& states = session.forward(pixels.view()).last_hidden_state;
  return {states.data, states.data + states.size()};
}

class QuantisedNetwork : public testing::TestWithParam<NetworkCase> {};

TEST_P(QuantisedNetwork, ComputesWithStoredIntegersWhatItComputesWithFreshOnes) {
  const NetworkCase& c = GetParam();
  const auto fresh =
      std::make_shared<const Model>(c.config, lively_weights(c), ModelOptions{.precision = Precision::int8});
  if (fresh->precision() != Precision::int8) GTEST_SKIP() << fresh->precision_note();
  const auto stored = std::make_shared<const Model>(c.config, quantised(c.config, lively_weights(c)));
  EXPECT_EQ(stored->precision(), Precision::int8);  // by itself
  EXPECT_EQ(last_states(stored, c), last_states(fresh, c));
}

TEST_P(QuantisedNetwork, ComputesInFp32WithTheNumbersThatTheIntegersStandFor) {
  const NetworkCase& c = GetParam();
  const Weights integers = quantised(c.config, lively_weights(c));
  Weights numbers = integers;
  auto storage = std::make_shared<std::vector<Tensor>>();
  for_each_tensor(c.config, numbers, [&](const TensorSpec&, WeightView& view) {
    const Tensor& tensor = storage->emplace_back(view.to_tensor());
    view.parts = {{bytes(tensor.data()), DType::f32, tensor.size()}};
  });
  const ModelOptions fp32{.precision = Precision::fp32};
  const auto of_integers = std::make_shared<const Model>(c.config, integers, fp32);
  EXPECT_EQ(of_integers->precision(), Precision::fp32);
  EXPECT_EQ(last_states(of_integers, c),
            last_states(std::make_shared<const Model>(c.config, numbers, fp32), c));
}

INSTANTIATE_TEST_SUITE_P(All, QuantisedNetwork, testing::ValuesIn(network_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace vit::test
