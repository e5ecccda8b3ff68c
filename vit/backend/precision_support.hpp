// What arithmetic this processor has.
#pragma once

#include <string>

#include "vit/config.hpp"
#include "vit/precision.hpp"

namespace vit::backend {

/// Whether oneDNN multiplies in this precision with instructions for it, and not by way of another one.
bool has_precision(Precision precision);

/// The instructions that has_precision() asks for, for messages.
std::string needed_instructions(Precision precision);

/// Whether a matmul can apply this activation itself.
bool is_fused(Activation activation);

}  // namespace vit::backend
