// What the references' config files call activations. Internal.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "vit/config.hpp"

namespace vit::io {

struct ActivationName {
  std::string_view name;
  Activation activation;
};

/// Those of transformers' ACT2FN without learned parameters.
std::span<const ActivationName> transformers_activations();
/// Those of timm's get_act_layer without learned parameters, in lower case.
std::span<const ActivationName> timm_activations();

/// Nothing if no row has the name.
std::optional<Activation> find_activation(std::span<const ActivationName> rows, std::string_view name);

/// What follows an activation that is none of them: "is not supported; supported: gelu, …", and why where it
/// learns.
std::string why_refused(std::span<const ActivationName> rows, std::string_view name);

}  // namespace vit::io
