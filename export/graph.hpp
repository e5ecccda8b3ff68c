// An ONNX graph in plain data: what the emitter builds, the file holds and the evaluator runs. Knows nothing
// of Protobuf. Follows https://onnx.ai/onnx/repo-docs/IR.html, the part of it that a ViT needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "vit/tensor.hpp"

namespace vit::exporter {

/// Element types that occur in the graphs we write.
enum class ElementType { f32, f16, i8, u8, i64 };

using vit::to_string;  // of shapes

std::string_view to_string(ElementType type);

/// Bytes of one element.
constexpr std::int64_t size_of(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return 4;
    case ElementType::f16:
      return 2;
    case ElementType::i8:
    case ElementType::u8:
      return 1;
    case ElementType::i64:
      return 8;
  }
  return 0;
}

/// A number, or the name of a dimension that is not known before the graph runs ("batch").
using Dim = std::variant<std::int64_t, std::string>;

/// An input or output of the graph.
struct ValueInfo {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<Dim> shape;

  bool operator==(const ValueInfo&) const = default;
};

/// "[batch, 3, 224, 224]"
std::string to_string(const std::vector<Dim>& shape);

/// A constant. Its bytes are made when somebody asks for them, so that a graph of many gigabytes of weights
/// costs no memory by itself.
struct Initializer {
  std::string name;
  ElementType type = ElementType::f32;
  Shape shape;
  /// Writes all bytes, little-endian and row-major, to memory of bytes() bytes of any alignment. Gives the
  /// same bytes each time. What it refers to (weights, a mapped file) must outlive the graph.
  std::function<void(std::byte* dst)> fill;
  const std::byte* data =
      nullptr;  ///< the same bytes where they are in memory already: of a file that was read

  std::int64_t size() const { return element_count(shape); }
  std::int64_t bytes() const { return size() * size_of(type); }
};

using Attribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>>;

struct Node {
  std::string name;  ///< "/blocks.0/attn/q/MatMul"; unique
  std::string op_type;
  std::vector<std::string> inputs;  ///< "" for an optional one that is left out
  std::vector<std::string> outputs;
  std::map<std::string, Attribute> attributes;  ///< ordered, so that files are the same each time

  bool operator==(const Node&) const = default;
};

/// Text about the model; keys are unique. Ordered as it is written.
using Metadata = std::vector<std::pair<std::string, std::string>>;

struct Graph {
  std::string name;  ///< of the graph: the model's
  std::int64_t opset = 17;
  std::int64_t ir_version = 8;
  std::string producer_name;
  std::string producer_version;
  std::string doc_string;

  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  std::vector<Initializer> initializers;
  std::vector<Node> nodes;  ///< in an order in which they can be run
  Metadata metadata;

  /// nullptr if there is none of this name.
  const Initializer* find_initializer(std::string_view initializer) const;
  const std::string* find_metadata(std::string_view key) const;
};

}  // namespace vit::exporter
