#include "io/activation_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace vit::io {
namespace {

// transformers/activations.py. gelu_fast and gelu_accurate are other ways to write the tanh formula.
constexpr std::array kTransformers{
    ActivationName{"gelu", Activation::gelu},
    ActivationName{"gelu_python", Activation::gelu},
    ActivationName{"gelu_new", Activation::gelu_tanh},
    ActivationName{"gelu_pytorch_tanh", Activation::gelu_tanh},
    ActivationName{"gelu_python_tanh", Activation::gelu_tanh},
    ActivationName{"gelu_fast", Activation::gelu_tanh},
    ActivationName{"gelu_accurate", Activation::gelu_tanh},
    ActivationName{"gelu_10", Activation::gelu_10},
    ActivationName{"quick_gelu", Activation::quick_gelu},
    ActivationName{"relu", Activation::relu},
    ActivationName{"relu2", Activation::relu2},
    ActivationName{"relu6", Activation::relu6},
    ActivationName{"leaky_relu", Activation::leaky_relu},
    ActivationName{"silu", Activation::silu},
    ActivationName{"swish", Activation::silu},
    ActivationName{"hardswish", Activation::hard_swish},
    ActivationName{"mish", Activation::mish},
    ActivationName{"tanh", Activation::tanh},
    ActivationName{"sigmoid", Activation::sigmoid},
    ActivationName{"laplace", Activation::laplace},
    ActivationName{"sqrtsoftplus", Activation::sqrt_softplus},
    ActivationName{"linear", Activation::identity},
};

// timm/layers/create_act.py. CELU's α is 1 there, which makes it ELU.
constexpr std::array kTimm{
    ActivationName{"gelu", Activation::gelu},
    ActivationName{"gelu_tanh", Activation::gelu_tanh},
    ActivationName{"quick_gelu", Activation::quick_gelu},
    ActivationName{"relu", Activation::relu},
    ActivationName{"relu6", Activation::relu6},
    ActivationName{"leaky_relu", Activation::leaky_relu},
    ActivationName{"elu", Activation::elu},
    ActivationName{"celu", Activation::elu},
    ActivationName{"selu", Activation::selu},
    ActivationName{"silu", Activation::silu},
    ActivationName{"swish", Activation::silu},
    ActivationName{"hard_swish", Activation::hard_swish},
    ActivationName{"hardswish", Activation::hard_swish},
    ActivationName{"mish", Activation::mish},
    ActivationName{"hard_mish", Activation::hard_mish},
    ActivationName{"sigmoid", Activation::sigmoid},
    ActivationName{"hard_sigmoid", Activation::hard_sigmoid},
    ActivationName{"hardsigmoid", Activation::hard_sigmoid},
    ActivationName{"tanh", Activation::tanh},
    ActivationName{"identity", Activation::identity},
};

}  // namespace

std::span<const ActivationName> transformers_activations() {
  return kTransformers;
}

std::span<const ActivationName> timm_activations() {
  return kTimm;
}

std::optional<Activation> find_activation(std::span<const ActivationName> rows, std::string_view name) {
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const ActivationName& r) { return r.name == name; });
  if (row == rows.end()) return std::nullopt;
  return row->activation;
}

std::string why_refused(std::span<const ActivationName> rows, std::string_view name) {
  std::string known;
  for (const ActivationName& row : rows) known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  const bool learns = name == "prelu" || name == "xielu";
  return fmt::format("is not supported{}; supported: {}", learns ? ", since it has learned parameters" : "",
                     known);
}

}  // namespace vit::io
