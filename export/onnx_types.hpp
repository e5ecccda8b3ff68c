// Element types by ONNX's numbers (TensorProto.DataType). Internal to export/.
#pragma once

#include <cstdint>
#include <optional>

#include "export/graph.hpp"

namespace vit::exporter {

constexpr std::int32_t onnx_type(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return 1;
    case ElementType::u8:
      return 2;
    case ElementType::i8:
      return 3;
    case ElementType::i64:
      return 7;
    case ElementType::f16:
      return 10;
  }
  return 0;
}

constexpr std::optional<ElementType> element_type(std::int32_t number) {
  for (const ElementType type :
       {ElementType::f32, ElementType::f16, ElementType::i8, ElementType::u8, ElementType::i64}) {
    if (onnx_type(type) == number) return type;
  }
  return std::nullopt;
}

}  // namespace vit::exporter
