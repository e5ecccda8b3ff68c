// The arithmetic that a network's matrix products are made in.
#pragma once

#include <string_view>

namespace vit {

enum class Precision {
  fp32,
  bf16,
  int8,
};

/// "fp32"
std::string_view to_string(Precision precision);

}  // namespace vit
