#include "vit/precision_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "tests/vit/network_cases.hpp"
#include "vit/backend/precision_support.hpp"
#include "vit/model.hpp"

namespace vit::test {
namespace {

constexpr Precision kReduced[] = {Precision::bf16, Precision::int8};

const NetworkCase& some_network() {
  return network_case("6_heads_of_64");
}

std::string verdict(Precision precision, const CheckedProducts& products) {
  return why_not(precision, some_network().config, lively_weights(some_network()), products);
}

/// The engine's product with one number wrong by a tenth of the whole.
Tensor linear_off(const LinearWeights& weights, const Tensor& src, Precision precision) {
  Tensor dst = engine_products().linear(weights, src, precision);
  if (precision == Precision::fp32) return dst;
  double squares = 0;
  for (const float value : dst.elements()) squares += static_cast<double>(value) * static_cast<double>(value);
  dst.data()[dst.size() / 2] += static_cast<float>(0.1 * std::sqrt(squares));
  return dst;
}

Tensor linear_nan(const LinearWeights& weights, const Tensor& src, Precision precision) {
  Tensor dst = engine_products().linear(weights, src, precision);
  if (precision != Precision::fp32) dst.data()[0] = std::numeric_limits<float>::quiet_NaN();
  return dst;
}

Tensor linear_nothing(const LinearWeights& weights, const Tensor& src, Precision precision) {
  Tensor dst = engine_products().linear(weights, src, precision);
  if (precision != Precision::fp32) std::fill_n(dst.data(), dst.size(), 0.0F);
  return dst;
}

/// fc2 alone, which is last.
Tensor linear_without_bias(const LinearWeights& weights, const Tensor& src, Precision precision) {
  if (precision == Precision::fp32 || weights.weight.shape[1] == 384)
    return engine_products().linear(weights, src, precision);
  return engine_products().linear({weights.weight, {}}, src, precision);
}

Tensor attention_of_half_the_scores(const ModelConfig& config, const Tensor& qkv, ValueType products) {
  Tensor half = qkv.clone();
  if (products != ValueType::f32)
    for (std::int64_t i = 0; i < half.size(); ++i)
      if (i % (3 * config.hidden_size) < config.hidden_size) half.data()[i] /= 2;
  return engine_products().attention(config, half, products);
}

TEST(PrecisionCheck, Fp32NeedsNone) {
  const CheckedProducts none{nullptr, nullptr};
  EXPECT_EQ(verdict(Precision::fp32, none), "");
}

TEST(PrecisionCheck, AcceptsTheEngine) {
  for (const Precision precision : kReduced) {
    if (!backend::has_precision(precision)) continue;
    EXPECT_EQ(verdict(precision, engine_products()), "") << to_string(precision);
  }
}

TEST(PrecisionCheck, SaysWhatTheProcessorLacks) {
  for (const Precision precision : kReduced) {
    if (backend::has_precision(precision)) continue;
    const std::string note = verdict(precision, engine_products());
    EXPECT_NE(note.find("this processor has no " + std::string(to_string(precision))), note.npos) << note;
    EXPECT_NE(note.find(backend::needed_instructions(precision)), note.npos) << note;
    EXPECT_NE(note.find("fp32 is used"), note.npos) << note;
  }
}

TEST(PrecisionCheck, SeesAWrongProduct) {
  for (const Precision precision : kReduced) {
    if (!backend::has_precision(precision)) continue;
    for (const auto wrong : {linear_off, linear_nan, linear_nothing, linear_without_bias}) {
      const std::string note = verdict(precision, {wrong, engine_products().attention});
      EXPECT_NE(note.find(std::string(to_string(precision)) + " product of blocks.0."), note.npos) << note;
      EXPECT_NE(note.find("fp32 is used"), note.npos) << note;
    }
  }
}

TEST(PrecisionCheck, NamesTheLayer) {
  for (const Precision precision : kReduced) {
    if (!backend::has_precision(precision)) continue;
    const std::string first = verdict(precision, {linear_nan, engine_products().attention});
    EXPECT_NE(first.find("blocks.0.attn.qkv"), first.npos) << first;
    const std::string last = verdict(precision, {linear_without_bias, engine_products().attention});
    EXPECT_NE(last.find("blocks.0.mlp.fc2"), last.npos) << last;
  }
}

TEST(PrecisionCheck, SeesWrongAttention) {
  if (!backend::has_precision(Precision::bf16)) GTEST_SKIP() << "this processor has no bf16";
  for (const Precision precision : kReduced) {
    if (!backend::has_precision(precision)) continue;
    const std::string note = verdict(precision, {engine_products().linear, attention_of_half_the_scores});
    EXPECT_NE(note.find("attention in bf16 is off"), note.npos) << note;
  }
}

// What a model does with the verdict.
TEST(PrecisionCheck, AModelOfNaNsIsOneOfFp32) {
  if (!backend::has_precision(Precision::bf16)) GTEST_SKIP() << "this processor has no bf16";
  const NetworkCase& c = some_network();
  Weights weights = lively_weights(c);
  const Tensor spoiled = [&] {
    Tensor copy = weights.blocks[0].fc1.weight.to_tensor();
    copy.data()[3] = std::numeric_limits<float>::quiet_NaN();
    return copy;
  }();
  weights.blocks[0].fc1.weight = {
      spoiled.shape(), {{reinterpret_cast<const std::byte*>(spoiled.data()), DType::f32, spoiled.size()}}};
  const Model model(c.config, std::move(weights), {.precision = Precision::bf16});
  EXPECT_EQ(model.precision(), Precision::fp32);
  EXPECT_NE(model.precision_note().find("blocks.0.mlp.fc1"), std::string::npos) << model.precision_note();
}

TEST(ModelPrecision, IsWhatWasAskedFor) {
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::int8}) {
    if (!backend::has_precision(precision)) continue;
    const Model model(some_network().config, lively_weights(some_network()), {.precision = precision});
    EXPECT_EQ(model.precision(), precision);
    EXPECT_EQ(model.precision_note(), "");
  }
}

}  // namespace
}  // namespace vit::test
