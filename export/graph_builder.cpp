#include "export/graph_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <memory>
#include <set>

#include "vit/error.hpp"

namespace vit::exporter {
namespace {

template <class T>
std::function<void(std::byte*)> copy_of(std::vector<T> values) {
  return [values = std::make_shared<const std::vector<T>>(std::move(values))](std::byte* dst) {
    std::memcpy(dst, values->data(), values->size() * sizeof(T));
  };
}

}  // namespace

std::string GraphBuilder::input(std::string name, ElementType type, std::vector<Dim> shape) {
  graph_.inputs.push_back({name, type, std::move(shape)});
  return name;
}

std::string GraphBuilder::output(const std::string& value, std::string name, std::vector<Dim> shape) {
  std::string& result = graph_.nodes.back().outputs.front();
  if (result != value)
    throw Error(ErrorCode::internal, fmt::format("{} is not the newest node's result", value));
  result = name;
  graph_.outputs.push_back({name, ElementType::f32, std::move(shape)});
  return name;
}

std::string GraphBuilder::initializer(std::string name, ElementType type, Shape shape,
                                      std::function<void(std::byte*)> fill) {
  graph_.initializers.push_back({name, type, std::move(shape), std::move(fill)});
  return name;
}

std::string GraphBuilder::constant(std::string name, Shape shape, std::vector<float> values) {
  return initializer(std::move(name), ElementType::f32, std::move(shape), copy_of(std::move(values)));
}

std::string GraphBuilder::scalar(std::string_view name, float value) {
  std::string& known = scalars_[std::bit_cast<std::uint32_t>(value)];
  if (known.empty()) known = constant(std::string(name), {}, {value});
  return known;
}

std::string GraphBuilder::shared_ints(std::vector<std::int64_t> values, bool scalar) {
  std::string& known = ints_[{values, scalar}];
  if (!known.empty()) return known;
  known = scalar ? fmt::format("index_{}", values.front()) : fmt::format("ints_{}", fmt::join(values, "_"));
  const Shape shape = scalar ? Shape{} : Shape{static_cast<std::int64_t>(values.size())};
  return initializer(known, ElementType::i64, shape, copy_of(std::move(values)));
}

std::string GraphBuilder::ints(std::vector<std::int64_t> values) {
  return shared_ints(std::move(values), false);
}

std::string GraphBuilder::index(std::int64_t value) {
  return shared_ints({value}, true);
}

std::string GraphBuilder::named_ints(const std::string& name, const Shape& shape,
                                     std::vector<std::int64_t> values) {
  if (graph_.find_initializer(name) != nullptr) return name;
  return initializer(name, ElementType::i64, shape, copy_of(std::move(values)));
}

std::string GraphBuilder::zeros(const Shape& shape) {
  std::string& known = zeros_[shape];
  if (known.empty()) {
    known = constant(fmt::format("zeros_{}", fmt::join(shape, "x")), shape,
                     std::vector<float>(static_cast<std::size_t>(element_count(shape))));
  }
  return known;
}

std::string GraphBuilder::zero_points(const Shape& shape) {
  std::string& known = zero_points_[shape];
  if (!known.empty()) return known;
  known = shape.empty() ? "zero_point" : fmt::format("zero_points_{}", fmt::join(shape, "x"));
  return initializer(known, ElementType::i8, shape,
                     copy_of(std::vector<std::int8_t>(static_cast<std::size_t>(element_count(shape)))));
}

std::string GraphBuilder::node(std::string_view module, std::string op, std::vector<std::string> inputs,
                               Attributes attributes) {
  std::string name = fmt::format("{}/{}", module, op);
  if (const int before = used_names_[name]++; before > 0) name += fmt::format("_{}", before);
  std::string result = name + "_out";
  graph_.nodes.push_back(
      {std::move(name), std::move(op), std::move(inputs), {result}, std::move(attributes)});
  return result;
}

std::vector<std::string> GraphBuilder::split(std::string_view module, const std::string& value,
                                             const std::string& sizes, int count) {
  const std::string first = node(module, "Split", {value, sizes}, {{"axis", std::int64_t{-1}}});
  std::vector<std::string>& outputs = graph_.nodes.back().outputs;
  for (int i = 1; i < count; ++i) outputs.push_back(fmt::format("{}_{}", first, i));
  return outputs;
}

Graph GraphBuilder::finish() {
  std::set<std::string> needed;
  for (const ValueInfo& output : graph_.outputs) needed.insert(output.name);
  std::vector<Node> kept;
  for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
    const auto& outputs = node->outputs;
    if (std::none_of(outputs.begin(), outputs.end(), [&](const auto& o) { return needed.contains(o); }))
      continue;
    needed.insert(node->inputs.begin(), node->inputs.end());
    kept.push_back(std::move(*node));
  }
  graph_.nodes.assign(std::move_iterator(kept.rbegin()), std::move_iterator(kept.rend()));
  std::erase_if(graph_.initializers, [&](const Initializer& i) { return !needed.contains(i.name); });
  return std::move(graph_);
}

}  // namespace vit::exporter
