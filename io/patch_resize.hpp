// Patch embeddings for patches of another size. Internal.
#pragma once

#include "vit/config.hpp"
#include "vit/tensor.hpp"
#include "vit/weights.hpp"

namespace vit::io {

/// FlexiViT's pseudo-inverse resize (Beyer et al. 2023, arXiv:2212.08013, section 3.4): the kernel whose
/// answer to a resized patch is nearest to the old kernel's answer to the patch, patches being resized
/// bicubically with antialias. `kernel` [D, C, P, P] -> [D, C, size.height, size.width].
Tensor resize_patch_kernel(const WeightView& kernel, Size2 size);

}  // namespace vit::io
