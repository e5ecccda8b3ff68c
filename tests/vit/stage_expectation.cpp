#include "tests/vit/stage_expectation.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <span>
#include <string>

namespace vit::test {
namespace {

using reference::Array;

constexpr double kUnitRoundoff = 0x1p-24;  // u of f32
// One sample of random errors is compared with the largest of another; over all cases and oneDNN's
// instruction sets the computed error is at most 1.02 times the measured movement.
constexpr double kSampling = 2;

std::vector<ExpectedStage> in_order(reference::Stages&& stages) {
  std::vector<ExpectedStage> all;
  const auto add = [&](Stage stage, std::int64_t block, Array& values) {
    all.push_back({stage, block, std::move(values)});
  };
  add(Stage::embeddings, -1, stages.embeddings);
  for (std::size_t i = 0; i < stages.blocks.size(); ++i) {
    add(Stage::attention_probs, static_cast<std::int64_t>(i), stages.attention_probs[i]);
    add(Stage::block, static_cast<std::int64_t>(i), stages.blocks[i]);
  }
  add(Stage::last_hidden_state, -1, stages.last_hidden_state);
  add(Stage::features, -1, stages.features);
  if (!stages.logits.empty()) add(Stage::logits, -1, stages.logits);
  return all;
}

struct Inputs {
  reference::Parameters parameters;
  Array pixel_values;
};

Inputs inputs(const NetworkCase& c) {
  Weights weights = lively_weights(c);
  const Tensor pixels = pixel_values(c);
  return {reference::parameters(c.config, weights),
          Array(pixels.shape(), {pixels.elements().begin(), pixels.elements().end()})};
}

std::int64_t longest_reduction(const NetworkCase& c) {
  const ModelConfig& m = c.config;
  return std::max({m.hidden_size, m.mlp_size, m.num_tokens(c.image_size()),
                   m.num_channels * m.patch_size.height * m.patch_size.width});
}

/// Whether it is the matrix of a product in the blocks or of the patches: [out, …].
bool is_rounded(const std::string& name, const Array& tensor) {
  return tensor.shape.size() >= 2 && name.ends_with("weight") &&
         (name.starts_with("blocks.") || name.starts_with("patch_embed."));
}

/// Moves each number by up to 2⁻⁸ of itself, or by half a level of 255 between the ends of its row and zero.
class Mover {
 public:
  Mover(Precision precision, std::uint32_t seed) : precision_(precision), generator_(seed) {}

  void operator()(Array& array) { move(array, array.shape.empty() ? 1 : array.shape.back()); }
  void move(Array& array, std::int64_t row_size) {
    const auto size = static_cast<std::size_t>(row_size);
    for (std::size_t row = 0; row < array.values.size(); row += size) {
      const std::span<double> values(array.values.data() + row, size);
      const double low = std::min(0.0, *std::min_element(values.begin(), values.end()));
      const double high = std::max(0.0, *std::max_element(values.begin(), values.end()));
      for (double& value : values) {
        value += precision_ == Precision::int8 ? (high - low) / 510 * delta_(generator_)
                                               : value * 0x1p-8 * delta_(generator_);
      }
    }
  }

 private:
  Precision precision_;
  std::mt19937 generator_;
  std::uniform_real_distribution<double> delta_{-1, 1};
};

}  // namespace

double distance(const Array& a, const Array& b) {
  double largest = 0;
  double difference = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    largest = std::max(largest, std::abs(a.values[i]));
    difference = std::max(difference, std::abs(a.values[i] - b.values[i]));
  }
  return difference == 0 ? 0 : difference / largest;
}

std::vector<ExpectedStage> stages_of(const NetworkCase& c, const ModelConfig& config) {
  const Inputs exact = inputs(c);
  return in_order(reference::forward(config, exact.parameters, exact.pixel_values, {.merge = c.merge}));
}

std::vector<ExpectedStage> expected_stages(const NetworkCase& c) {
  std::vector<ExpectedStage> expected = stages_of(c, c.config);

  std::mt19937 generator(7);
  std::uniform_real_distribution<double> delta(-kUnitRoundoff, kUnitRoundoff);
  const auto move = [&](Array& array) {
    for (double& value : array.values) value *= 1 + delta(generator);
  };
  Inputs moved = inputs(c);
  move(moved.pixel_values);
  for (auto& [name, tensor] : moved.parameters) move(tensor);
  const auto stages =
      in_order(reference::forward(c.config, moved.parameters, moved.pixel_values, {move, c.merge}));

  const double root_K = std::sqrt(static_cast<double>(longest_reduction(c)));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i].bound =
        kSampling * root_K * std::max(distance(expected[i].values, stages[i].values), kUnitRoundoff);
  }
  return expected;
}

std::vector<ExpectedStage> expected_stages(const NetworkCase& c, Precision precision) {
  std::vector<ExpectedStage> expected = stages_of(c, c.config);
  constexpr std::uint32_t kSamples = 4;  // logits are few numbers: one sample may hardly move them
  for (std::uint32_t seed = 1; seed <= kSamples; ++seed) {
    Mover move(precision, seed);
    Inputs moved = inputs(c);
    Mover(Precision::bf16, seed)(moved.pixel_values);
    for (auto& [name, tensor] : moved.parameters)
      if (is_rounded(name, tensor)) move.move(tensor, std::ssize(tensor.values) / tensor.dim(0));
    const auto stages = in_order(
        reference::forward(c.config, moved.parameters, moved.pixel_values, {std::ref(move), c.merge}));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ExpectedStage& stage = expected[i];
      stage.bound = std::max(stage.bound, kSampling * distance(stage.values, stages[i].values));
    }
  }
  return expected;
}

}  // namespace vit::test
