// What somebody who knows such models would say about one, before it is used.
#pragma once

#include <string>
#include <vector>

#include "io/checkpoint.hpp"

namespace vit::io {

struct Warning {
  std::string topic;  ///< what it is about: "head", "channels", "labels", "recipe", "positions", "precision",
                      ///< "tensors"
  std::string text;   ///< what is so, and where it helps, what to do
};

/// In the order of the topics above; none where all is as it should be. What the model is computed in is that
/// of this processor.
std::vector<Warning> diagnose(const CheckpointInfo& info);

}  // namespace vit::io
