#include "export/graph.hpp"

#include <algorithm>

namespace vit::exporter {

std::string_view to_string(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return "float32";
    case ElementType::f16:
      return "float16";
    case ElementType::i8:
      return "int8";
    case ElementType::u8:
      return "uint8";
    case ElementType::i64:
      return "int64";
  }
  return "?";
}

std::string to_string(const std::vector<Dim>& shape) {
  std::string text = "[";
  for (const Dim& dim : shape) {
    if (text.size() > 1) text += ", ";
    const auto* name = std::get_if<std::string>(&dim);
    text += name != nullptr ? *name : std::to_string(std::get<std::int64_t>(dim));
  }
  return text + "]";
}

const Initializer* Graph::find_initializer(std::string_view initializer) const {
  const auto found = std::find_if(initializers.begin(), initializers.end(),
                                  [&](const Initializer& i) { return i.name == initializer; });
  return found == initializers.end() ? nullptr : &*found;
}

const std::string* Graph::find_metadata(std::string_view key) const {
  const auto found =
      std::find_if(metadata.begin(), metadata.end(), [&](const auto& pair) { return pair.first == key; });
  return found == metadata.end() ? nullptr : &found->second;
}

}  // namespace vit::exporter
