// Reproducible random tensors.
#pragma once

#include <cstdint>
#include <random>

#include "vit/tensor.hpp"

namespace vit::test {

/// Normal numbers of the given mean and standard deviation.
inline void fill_normal(std::span<float> values, std::uint32_t seed, double sigma = 1, double mean = 0) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;  // scaled here: it wants a sigma above 0 itself
  for (float& value : values) value = static_cast<float>(mean + sigma * normal(generator));
}

inline Tensor normal_tensor(Shape shape, std::uint32_t seed, double sigma = 1, double mean = 0) {
  Tensor tensor(std::move(shape));
  fill_normal(tensor.elements(), seed, sigma, mean);
  return tensor;
}

}  // namespace vit::test
