// Ranges of known distributions.
#include "export/calibrate.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "tests/export/sketch.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/random.hpp"
#include "tests/vit/network_cases.hpp"

namespace vit::exporter {
namespace {

using test::Sketch;
using testing::Each;
using testing::UnorderedElementsAre;

/// y = (x · 1) W, W = [1]: its one linear layer sees the pictures as they are, its result too.
Graph identity(std::int64_t columns) {
  Sketch sketch;
  sketch.graph.inputs = {{"x", ElementType::f32, {"batch", columns, std::int64_t{1}}}};
  sketch.constant<float>("w", ElementType::f32, {1}, {1, 1});
  sketch.node("Mul", {"x", "w"}).node("MatMul", {"value0", "w"});
  sketch.output("value1", {"batch", columns, std::int64_t{1}});
  return sketch.graph;
}

NextPicture pictures(std::vector<std::vector<float>> values) {
  auto at = std::make_shared<std::size_t>(0);
  return [at, values = std::move(values)]() -> std::optional<Tensor> {
    if (*at == values.size()) return std::nullopt;
    const std::vector<float>& v = values[(*at)++];
    Tensor picture({static_cast<std::int64_t>(v.size()), 1});
    std::copy(v.begin(), v.end(), picture.data());
    return picture;
  };
}

/// Mean squared error of rounding to 8 bits with this range, by the definition.
double error_of(const std::vector<float>& values, double range) {
  double sum = 0;
  for (const float value : values) {
    const double step = range / 127;
    const double rounded =
        std::clamp(std::nearbyint(static_cast<double>(value) / step), -127.0, 127.0) * step;
    sum += (static_cast<double>(value) - rounded) * (static_cast<double>(value) - rounded);
  }
  return sum / static_cast<double>(values.size());
}

TEST(Calibrate, AUniformDistributionKeepsItsWholeRange) {
  std::vector<float> values;
  for (int i = -1000; i <= 1000; ++i) values.push_back(static_cast<float>(i) / 500);
  const ActivationRanges ranges = calibrate(identity(2001), pictures({values}), 1);
  ASSERT_EQ(ranges.size(), 1U);  // of what is multiplied, not of the result
  EXPECT_NEAR(ranges.at("value0"), 2, 0.02);
}

TEST(Calibrate, ANormalDistributionIsClippedWhereItCostsTheLeast) {
  std::vector<float> values(200000);
  test::fill_normal(values, 3);
  values.push_back(40);  // an outlier
  const float range = calibrate(identity(200001), pictures({values}), 1).at("value0");
  EXPECT_LT(range, 20);
  double least = error_of(values, 40);
  for (double r = 1; r < 40; r += 0.25) least = std::min(least, error_of(values, r));
  EXPECT_LT(error_of(values, static_cast<double>(range)), 1.05 * least);
}

TEST(Calibrate, RangesGrowWithThePictures) {
  // Each larger than those before, so that the histogram doubles again and again.
  std::vector<std::vector<float>> all;
  std::vector<float> values;
  for (int picture = 0; picture < 12; ++picture) {
    std::vector<float> v;
    for (int i = 0; i < 500; ++i) v.push_back(std::ldexp(static_cast<float>(i - 250) / 250, picture));
    all.push_back(v);
    values.insert(values.end(), v.begin(), v.end());
  }
  const auto range = static_cast<double>(calibrate(identity(500), pictures(all), 1).at("value0"));
  EXPECT_LE(range, 4096);
  double least = error_of(values, 2048);
  for (double r = 200; r < 2048; r += 50) least = std::min(least, error_of(values, r));
  EXPECT_LT(error_of(values, range), 1.05 * least);
}

TEST(Calibrate, ZerosHaveNoRange) {
  EXPECT_EQ(calibrate(identity(3), pictures({{0, 0, 0}}), 1).at("value0"), 0.0F);
}

TEST(Calibrate, TheSameOnAnyNumberOfThreads) {
  const std::vector<std::vector<float>> some{{1, 2, 3}, {-4, 0, 1}, {0.5F, 0.25F, 3.5F}};
  const auto forward = calibrate(identity(3), pictures(some), 1);
  EXPECT_EQ(forward, calibrate(identity(3), pictures(some), 3));
}

TEST(Calibrate, NamesEveryValueOfANetworkThatNeedsARange) {
  const test::NetworkCase& c = test::network_case("small");
  const Graph graph = vit_graph(c.config, test::lively_weights(c), {});
  int left = 3;
  const auto next = [&]() -> std::optional<Tensor> {
    if (left-- == 0) return std::nullopt;
    return test::normal_tensor({3, 24, 24}, static_cast<std::uint32_t>(left));
  };
  const ActivationRanges ranges = calibrate(graph, next, 1);
  std::vector<std::string> names;
  for (const auto& [name, range] : ranges) {
    EXPECT_GT(range, 0) << name;
    names.push_back(name);
  }
  std::vector<std::string> wanted = quantized_values(graph);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  EXPECT_EQ(names, wanted);
}

TEST(Calibrate, Errors) {
  EXPECT_ERROR(calibrate(identity(3), pictures({}), 1), ErrorCode::invalid_argument, "at least one picture");
  EXPECT_ERROR(calibrate(identity(3), pictures({{1, 2}}), 1), ErrorCode::invalid_argument, "shape [2, 1]",
               "expected [3, 1]");
  for (const float value : {std::nanf(""), INFINITY, -INFINITY}) {
    EXPECT_ERROR(calibrate(identity(3), pictures({{1, value, 2}, {1, 2, 3}}), 1), ErrorCode::not_finite,
                 "value");
    EXPECT_ERROR(calibrate(identity(3), pictures({{1, 2, 3}, {1, value, 2}}), 1), ErrorCode::not_finite,
                 "value");
  }
  // Infinities of both signs, whose sum is no number either.
  EXPECT_ERROR(calibrate(identity(2), pictures({{INFINITY, -INFINITY}}), 1), ErrorCode::not_finite, "value");
}

}  // namespace
}  // namespace vit::exporter
