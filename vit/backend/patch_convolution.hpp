// The patch embedding: a convolution whose stride is its kernel (Dosovitskiy et al. 2021, section 3.1).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "vit/backend/context.hpp"
#include "vit/config.hpp"
#include "vit/weights.hpp"

namespace vit::backend {

/// Kernel [D, C, P, P] and bias [D] (zeros where there is none) in plain f32; each PatchConvolution packs its
/// own copy, since the layout that oneDNN asks for depends on the image size.
struct PatchKernel {
  explicit PatchKernel(const LinearWeights& weights);

  Tensor weight;
  Tensor bias;
};

class PatchConvolution {
 public:
  /// Writes the embeddings of patch n of image b at dst + (b * tokens_per_image + n) * D.
  PatchConvolution(Context& context, const ModelConfig& config, const PatchKernel& kernel, std::int64_t batch,
                   Size2 image, std::int64_t tokens_per_image);
  ~PatchConvolution();
  PatchConvolution(PatchConvolution&&) noexcept;

  /// pixel_values [B, C, H, W] -> dst, as the constructor says.
  void run(const float* pixel_values, float* dst);

  const std::string& kernel() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vit::backend
