// The operators that the evaluator of export/onnx_run.hpp knows. Each is made once per node, which checks all
// that can be known before the graph runs, and then called with values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "export/graph.hpp"
#include "export/value.hpp"
#include "export/workers.hpp"

namespace vit::exporter {

/// "/blocks.0/attn/q/MatMul (MatMul)": a node in messages.
std::string name_of(const Node& node);

/// Reads a node before the graph runs. Whatever is not expected is refused: Error(model_unsupported).
class NodeReader {
 public:
  /// `types`: of the inputs, nothing for one that is left out.
  NodeReader(const Node& node, std::int64_t opset, std::vector<std::optional<ElementType>> types);

  std::int64_t opset() const { return opset_; }
  std::size_t input_count() const { return types_.size(); }
  std::size_t output_count() const { return node_.outputs.size(); }

  /// The first `least` inputs are there, and not more than `most`.
  void expect_inputs(std::size_t least, std::size_t most) const;
  void expect_outputs(std::size_t least, std::size_t most) const;
  bool has(std::size_t input) const { return input < types_.size() && types_[input].has_value(); }
  /// The type of an input that is there.
  ElementType type(std::size_t input) const { return *types_[input]; }
  /// If the input is there, its type is one of these.
  void expect_type(std::size_t input, std::initializer_list<ElementType> types) const;
  /// All inputs are.
  void expect_types(ElementType type) const;

  std::int64_t integer(const std::string& attribute, std::int64_t fallback);
  std::optional<std::int64_t> integer_or_none(const std::string& attribute);
  /// An integer that is 0 or 1.
  bool flag(const std::string& attribute, bool fallback);
  float number(const std::string& attribute, float fallback);
  std::string text(const std::string& attribute, const std::string& fallback);
  std::optional<std::vector<std::int64_t>> integers(const std::string& attribute);
  /// The attribute is left out, or has the one value that changes nothing.
  void expect_integer(const std::string& attribute, std::int64_t value);
  void expect_text(const std::string& attribute, const std::string& value);

  [[noreturn]] void refuse(const std::string& why) const;
  [[noreturn]] void refuse_attribute(const std::string& attribute) const;
  /// There is no attribute that nobody has asked for.
  void expect_no_more() const;

 private:
  template <class T>
  const T* find(const std::string& attribute);

  const Node& node_;
  std::int64_t opset_;
  std::vector<std::optional<ElementType>> types_;
  std::set<std::string> asked_;
};

/// What a node computes from.
class Arguments {
 public:
  /// One value for each of the node's inputs, any for one that is left out.
  Arguments(const Node& node, std::vector<Value> inputs, Workers& workers);

  bool has(std::size_t input) const { return input < inputs_.size() && !node_.inputs[input].empty(); }
  std::size_t size() const { return inputs_.size(); }
  const Value& operator[](std::size_t input) const { return inputs_[input]; }
  std::size_t output_count() const { return node_.outputs.size(); }
  Workers& workers() const { return workers_; }

  /// Uninitialised. Fails where it is too large.
  Value allocate(ElementType type, const Shape& shape) const;
  /// The elements of an input of int64 and rank 0 or 1; few, since they describe a shape.
  std::vector<std::int64_t> integers(std::size_t input) const;
  /// An axis of a tensor of this rank, counted from the end where it is negative.
  std::size_t axis(std::int64_t axis, std::size_t rank) const;
  /// As axis(), several that differ.
  std::vector<std::size_t> axes(const std::vector<std::int64_t>& axes, std::size_t rank) const;
  /// numpy's rule.
  Shape broadcast(const Shape& a, const Shape& b) const;

  /// Throws Error(verification_failed) naming the node and the shapes of its inputs.
  [[noreturn]] void fail(const std::string& why) const;
  void expect(bool condition, std::string_view why) const;

 private:
  const Node& node_;
  std::vector<Value> inputs_;
  Workers& workers_;
};

/// Gives the node's outputs.
using Kernel = std::function<std::vector<Value>(const Arguments& arguments)>;

struct Operator {
  ElementType type = ElementType::f32;  ///< of all outputs
  Kernel kernel;
};

/// Throws Error(model_unsupported), naming the node, for what cannot be evaluated.
Operator make_operator(const Node& node, std::int64_t opset, std::vector<std::optional<ElementType>> types);

// One for each operator; called by make_operator().
Operator make_attention(NodeReader& node);
Operator make_binary(NodeReader& node, const std::string& op_type);
Operator make_cast(NodeReader& node);
Operator make_concat(NodeReader& node);
Operator make_conv(NodeReader& node);
Operator make_dequantize_linear(NodeReader& node);
Operator make_expand(NodeReader& node);
Operator make_gather(NodeReader& node);
Operator make_clip(NodeReader& node);
Operator make_gelu(NodeReader& node);
/// Functions that have pieces, with parameters.
Operator make_rectifier(NodeReader& node, const std::string& op_type);
Operator make_gemm(NodeReader& node);
Operator make_layer_normalization(NodeReader& node);
Operator make_matmul(NodeReader& node);
Operator make_pad(NodeReader& node);
Operator make_quantize_linear(NodeReader& node);
Operator make_reduce_max(NodeReader& node);
Operator make_reduce_mean(NodeReader& node);
Operator make_reshape(NodeReader& node);
Operator make_slice(NodeReader& node);
Operator make_softmax(NodeReader& node);
Operator make_split(NodeReader& node);
Operator make_squeeze(NodeReader& node);
Operator make_transpose(NodeReader& node);
Operator make_unary(NodeReader& node, const std::string& op_type);
Operator make_unsqueeze(NodeReader& node);

}  // namespace vit::exporter
