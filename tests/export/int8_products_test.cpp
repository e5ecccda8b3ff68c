// 8-bit weights that processors without VNNI can multiply with 8-bit activations.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>

#include "export/vit_graph.hpp"
#include "export/weight_storage.hpp"
#include "tests/vit/network_cases.hpp"

namespace vit::exporter {
namespace {

/// The largest magnitude in an 8-bit initializer.
int largest(const Initializer& weight) {
  std::vector<std::int8_t> bytes(static_cast<std::size_t>(weight.bytes()));
  weight.fill(reinterpret_cast<std::byte*>(bytes.data()));
  int result = 0;
  for (const std::int8_t byte : bytes) result = std::max(result, std::abs(static_cast<int>(byte)));
  return result;
}

std::map<std::string, int> largest_weights(const GraphOptions& options) {
  const test::NetworkCase& c = test::network_case("small");
  const Graph graph = vit_graph(c.config, test::lively_weights(c), options);
  std::map<std::string, int> result;
  for (const Initializer& weight : graph.initializers) {
    if (weight.type == ElementType::i8 && weight.shape.size() == 2) result[weight.name] = largest(weight);
  }
  return result;
}

/// Ranges for all linear layers.
GraphOptions with_products() {
  const test::NetworkCase& c = test::network_case("small");
  GraphOptions options;
  for (const std::string& value : quantized_values(vit_graph(c.config, test::lively_weights(c), options)))
    options.ranges[value] = 1.0F;
  options.weights = WeightStorage::int8;
  return options;
}

TEST(Int8Products, TwoOfThemFitInto16Bits) {
  for (const auto& [name, magnitude] : largest_weights(with_products())) {
    if (name == "head.weight") continue;  // its input is not rounded
    EXPECT_EQ(magnitude, 64) << name;
    EXPECT_LE(2 * 255 * magnitude, 32767) << name;
  }
}

TEST(Int8Products, WeightsAloneHaveAllBits) {
  GraphOptions options;
  options.weights = WeightStorage::int8;
  const std::map<std::string, int> weights = largest_weights(options);
  EXPECT_FALSE(weights.empty());
  for (const auto& [name, magnitude] : weights) EXPECT_EQ(magnitude, 127) << name;
  EXPECT_EQ(largest_weights(with_products()).at("head.weight"), 127);
}

}  // namespace
}  // namespace vit::exporter
