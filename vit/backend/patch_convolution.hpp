// The patch embedding: a convolution whose stride is its kernel (Dosovitskiy et al. 2021, section 3.1).
// Patches do not overlap, so it is one product with the pixels of each patch laid side by side: as fast for
// 14×14 patches as for 16×16 ones, which no direct convolution of oneDNN's is, and its weights are packed
// once for all sizes of image.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "vit/backend/context.hpp"
#include "vit/backend/linear.hpp"
#include "vit/config.hpp"

namespace vit::backend {

class PatchConvolution {
 public:
  /// `kernel`: [D, C, P, P], packed as [D, C P P]. Writes the embeddings of patch n of image b at
  /// dst + (b * tokens_per_image + n) * D.
  PatchConvolution(Context& context, const ModelConfig& config, const PackedLinear& kernel,
                   std::int64_t batch, Size2 image, std::int64_t tokens_per_image);
  ~PatchConvolution();
  PatchConvolution(PatchConvolution&&) noexcept;

  /// pixel_values [B, C, H, W] -> dst, as the constructor says.
  void run(const float* pixel_values, const PackedLinear& kernel, float* dst);

  const std::string& kernel() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vit::backend
