// What files and commands call the stages of the forward pass.
#pragma once

#include <cstdint>
#include <string>

#include "vit/observer.hpp"

namespace vit {

/// "hidden_states.0" (into the first block) … "hidden_states.L", "attentions.0" …, "last_hidden_state",
/// "features", "logits". `block` as Observer::on_stage has it.
std::string stage_name(Stage stage, std::int64_t block);

}  // namespace vit
