#include "export/onnx_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "export/operators.hpp"
#include "export/value.hpp"
#include "export/workers.hpp"
#include "vit/error.hpp"

namespace vit::exporter {
namespace {

constexpr std::int64_t kOldestOpset = 13;
constexpr std::int64_t kNewestOpset = 23;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 34;  // of all values that are alive

/// A value of the graph: where it comes from, and who is the last to need it.
struct Slot {
  std::string name;
  ElementType type = ElementType::f32;
  const Initializer* initializer = nullptr;  ///< nullptr: an input, or computed
  std::size_t last_use = 0;                  ///< number of the node, or the number of nodes for an output
};

struct Step {
  const Node* node = nullptr;
  Operator op;
  std::vector<std::optional<std::size_t>> inputs;  ///< slots; nothing for one that is left out
  std::vector<std::size_t> outputs;
};

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::model_unsupported, "cannot evaluate the ONNX graph: " + why);
}

[[noreturn]] void refuse_input(const std::string& why) {
  throw Error(ErrorCode::invalid_argument, "inputs of the ONNX graph: " + why);
}

/// The dimensions that have names, as they turn out to be.
using Bindings = std::map<std::string, std::int64_t>;

/// False where the shape is not the declared one. Binds names that are not bound yet.
bool fits(const Shape& shape, const std::vector<Dim>& declared, Bindings& bindings) {
  if (shape.size() != declared.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto* name = std::get_if<std::string>(&declared[i]);
    const std::int64_t dim = name == nullptr ? std::get<std::int64_t>(declared[i])
                                             : bindings.emplace(*name, shape[i]).first->second;
    if (dim != shape[i]) return false;
  }
  return true;
}

}  // namespace

struct GraphRunner::Impl {
  const Graph& graph;
  int threads;
  std::vector<Slot> slots;
  std::map<std::string, std::size_t, std::less<>> slot_of;
  std::vector<Step> steps;

  Impl(const Graph& described, int thread_count) : graph(described), threads(thread_count) {
    if (threads < 1) throw Error(ErrorCode::invalid_argument, "a graph needs at least one thread to run");
    if (graph.opset < kOldestOpset || graph.opset > kNewestOpset) {
      refuse(fmt::format("its opset is {}, not {} to {}", graph.opset, kOldestOpset, kNewestOpset));
    }
    for (const ValueInfo& input : graph.inputs) define(input.name, input.type, nullptr);
    for (const Initializer& initializer : graph.initializers) {
      if (!checked_count(initializer.shape) || !initializer.fill) {
        refuse(fmt::format("the initializer {} of shape {}", initializer.name,
                           vit::to_string(initializer.shape)));
      }
      define(initializer.name, initializer.type, &initializer);
    }
    for (const Node& node : graph.nodes) add_step(node);
    for (const ValueInfo& output : graph.outputs) {
      const auto found = slot_of.find(output.name);
      if (found == slot_of.end()) refuse("nothing computes its output " + output.name);
      Slot& slot = slots[found->second];
      if (slot.type != ElementType::f32 || output.type != ElementType::f32) {
        refuse(fmt::format("its output {} is {}, not float32", output.name, to_string(slot.type)));
      }
      slot.last_use = graph.nodes.size();
    }
  }

  std::size_t define(const std::string& name, ElementType type, const Initializer* initializer) {
    if (name.empty()) refuse("a value without a name");
    if (!slot_of.emplace(name, slots.size()).second) refuse("the value " + name + " is defined twice");
    slots.push_back({name, type, initializer, steps.size()});
    return slots.size() - 1;
  }

  void add_step(const Node& node) {
    Step step{.node = &node, .op = {}, .inputs = {}, .outputs = {}};
    std::vector<std::optional<ElementType>> types;
    for (const std::string& input : node.inputs) {
      if (input.empty()) {
        types.emplace_back();
        step.inputs.emplace_back();
        continue;
      }
      const auto found = slot_of.find(input);
      if (found == slot_of.end()) {
        refuse(fmt::format("the node {} reads {}, which nothing has computed before", name_of(node), input));
      }
      Slot& slot = slots[found->second];
      slot.last_use = steps.size();
      types.emplace_back(slot.type);
      step.inputs.emplace_back(found->second);
    }
    step.op = make_operator(node, graph.opset, std::move(types));
    for (const std::string& output : node.outputs) {
      step.outputs.push_back(define(output, step.op.type, nullptr));
    }
    steps.push_back(std::move(step));
  }
};

namespace {

Value filled(const Initializer& initializer) {
  Value value(initializer.type, initializer.shape);
  initializer.fill(value.bytes());
  return value;
}

/// One run through a graph: the values that are alive.
class Run {
 public:
  Run(const Graph& graph, const std::vector<Slot>& slots, Workers& workers)
      : graph_(graph), slots_(slots), workers_(workers), values_(slots.size()) {}

  /// Copies the inputs, which may be misaligned.
  void take_inputs(const std::map<std::string, InputValue>& inputs) {
    for (const auto& [name, input] : inputs) {
      const bool known = std::any_of(graph_.inputs.begin(), graph_.inputs.end(),
                                     [&key = name](const ValueInfo& info) { return info.name == key; });
      if (!known) refuse_input("there is none called " + name);
    }
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {  // the first slots are theirs
      const ValueInfo& info = graph_.inputs[i];
      const auto found = inputs.find(info.name);
      if (found == inputs.end()) refuse_input(info.name + " is missing");
      values_[i] = checked(info, found->second);
      alive_ += values_[i].byte_size();
    }
  }

  void compute(const Step& step, std::size_t number, const NodeObserver& observer) {
    std::vector<Value> inputs;
    for (const std::optional<std::size_t>& slot : step.inputs) {
      inputs.push_back(slot ? value(*slot) : Value());
    }
    std::vector<Value> outputs = step.op.kernel(Arguments(*step.node, std::move(inputs), workers_));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      alive_ += outputs[i].byte_size();
      values_[step.outputs[i]] = std::move(outputs[i]);
    }
    if (alive_ > kMostBytes) {
      throw Error(ErrorCode::verification_failed,
                  fmt::format("after the ONNX node {}: the values take {} bytes, more than are allowed",
                              name_of(*step.node), alive_));
    }
    for (const std::size_t slot : step.outputs) {
      if (observer && step.op.type == ElementType::f32) {
        observer(*step.node, slots_[slot].name, values_[slot].view());
      }
      release(slot, number);
    }
    for (const std::optional<std::size_t>& slot : step.inputs) {
      if (slot) release(*slot, number);
    }
  }

  Tensor output(const ValueInfo& info, std::size_t slot) {
    const Value result = value(slot);
    if (!fits(result.shape(), info.shape, bindings_)) {
      throw Error(ErrorCode::verification_failed,
                  fmt::format("the output {} of the ONNX graph has the shape {}, {} is declared", info.name,
                              vit::to_string(result.shape()), to_string(info.shape)));
    }
    Tensor tensor(result.shape());
    std::copy_n(result.f32(), result.size(), tensor.data());
    return tensor;
  }

 private:
  Value value(std::size_t slot) const {
    const Initializer* initializer = slots_[slot].initializer;
    return initializer != nullptr ? filled(*initializer) : values_[slot];
  }

  void release(std::size_t slot, std::size_t number) {
    if (slots_[slot].last_use != number || values_[slot].bytes() == nullptr) return;
    alive_ -= values_[slot].byte_size();
    values_[slot] = Value();
  }

  Value checked(const ValueInfo& info, const InputValue& input) {
    const std::optional<std::int64_t> count = checked_count(input.shape);
    if (input.type != info.type || !count || !fits(input.shape, info.shape, bindings_)) {
      refuse_input(fmt::format("{} is {} {}, expected {} {}", info.name, to_string(input.type),
                               vit::to_string(input.shape), to_string(info.type), to_string(info.shape)));
    }
    if (*count > 0 && input.data == nullptr) refuse_input(info.name + " has no data");
    Value value(input.type, input.shape);
    if (*count > 0) std::memcpy(value.bytes(), input.data, static_cast<std::size_t>(value.byte_size()));
    return value;
  }

  const Graph& graph_;
  const std::vector<Slot>& slots_;
  Workers& workers_;
  std::vector<Value> values_;
  Bindings bindings_;
  std::int64_t alive_ = 0;  // bytes; what shares memory counts twice
};

}  // namespace

GraphRunner::GraphRunner(const Graph& graph, int threads) : impl_(std::make_unique<Impl>(graph, threads)) {}

GraphRunner::~GraphRunner() = default;

std::map<std::string, Tensor> GraphRunner::run(const std::map<std::string, InputValue>& inputs,
                                               const NodeObserver& observer) const {
  Workers workers(impl_->threads);
  Run run(impl_->graph, impl_->slots, workers);
  run.take_inputs(inputs);
  for (std::size_t i = 0; i < impl_->steps.size(); ++i) run.compute(impl_->steps[i], i, observer);
  std::map<std::string, Tensor> outputs;
  for (const ValueInfo& output : impl_->graph.outputs) {
    outputs.emplace(output.name, run.output(output, impl_->slot_of.at(output.name)));
  }
  return outputs;
}

}  // namespace vit::exporter
