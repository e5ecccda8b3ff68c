#include "vit/precision.hpp"

#include <fmt/format.h>

#include "vit/backend/precision_support.hpp"

namespace vit {

std::string_view to_string(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::bf16:
      return "bf16";
    case Precision::int8:
      return "int8";
  }
  return "?";
}

std::string processor_shortage(Precision precision) {
  if (precision == Precision::fp32 || backend::has_precision(precision)) return {};
  return fmt::format("this processor has no {} ({}); fp32 is used", to_string(precision),
                     backend::needed_instructions(precision));
}

}  // namespace vit
