// Activations: as post-ops of oneDNN's primitives, or as a loop of our own where it has no such function.
// Internal to vit/backend.
#pragma once

#include <cstdint>

#include "vit/backend/primitive.hpp"
#include "vit/config.hpp"

namespace vit::backend {

/// Whether oneDNN's element-wise functions make up this one.
bool has_eltwise(Activation activation);

/// Appends the activation to a primitive's post-ops; nothing for identity, and for those without has_eltwise.
void append_eltwise(dnnl::post_ops& ops, Activation activation);

/// x = act(x), of an activation without has_eltwise.
void activate_in_place(Activation activation, float* x, std::int64_t size);

}  // namespace vit::backend
