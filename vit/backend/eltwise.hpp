// Activation -> oneDNN's element-wise algorithm. Internal to vit/backend.
#pragma once

#include "vit/backend/primitive.hpp"
#include "vit/config.hpp"

namespace vit::backend {

/// Appends the activation to a primitive's post-ops; nothing for identity.
void append_eltwise(dnnl::post_ops& ops, Activation activation);

}  // namespace vit::backend
