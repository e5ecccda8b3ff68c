// Small networks of odd shapes, each with something that a fast implementation may get wrong.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vit/config.hpp"
#include "vit/model.hpp"
#include "vit/tensor.hpp"
#include "vit/weights.hpp"

namespace vit::test {

struct NetworkCase {
  std::string name;
  ModelConfig config;
  Size2 image{};  ///< {0, 0}: the config's own
  std::int64_t batch = 1;
  double embedding_sigma = 0.5;  ///< of what enters the first block
  double outlier = 0;            ///< added to one channel of every token, as trained ViTs have them
  double mlp_gain = 1;           ///< of fc1: how far out on the activation's curve it goes
  std::int64_t merge = 0;        ///< tokens that every block merges

  Size2 image_size() const { return image == Size2{} ? config.image_size : image; }
};

std::ostream& operator<<(std::ostream& out, const NetworkCase& c);

const std::vector<NetworkCase>& network_cases();

/// The case of that name.
const NetworkCase& network_case(std::string_view name);
std::vector<NetworkCase> network_cases(std::initializer_list<std::string_view> names);

/// Weights large enough that every part of the network shows in its output: attention far from uniform,
/// activations far from linear, biases and scales far from 0 and 1.
Weights lively_weights(const NetworkCase& c, std::uint32_t seed = 1);

/// [B, C, H, W]
Tensor pixel_values(const NetworkCase& c, std::uint32_t seed = 2);

std::shared_ptr<const Model> make_model(const NetworkCase& c, Precision precision = Precision::fp32);

}  // namespace vit::test
