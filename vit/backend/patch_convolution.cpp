#include "vit/backend/patch_convolution.hpp"

#include <algorithm>

#include "vit/backend/packed_linear.hpp"
#include "vit/backend/row_kernels.hpp"

namespace vit::backend {
namespace {

void copy_row(const float* from, std::int64_t size, float* to) {
  std::copy_n(from, size, to);
}

void copy_row(const float* from, std::int64_t size, bf16_t* to) {
  row_kernels().scale_bf16(from, size, 1, to);
}

}  // namespace

struct PatchConvolution::Impl {
  Impl(Context& context, const ModelConfig& config, const PackedLinear& kernel, std::int64_t batch_size,
       Size2 image_size, std::int64_t image_tokens)
      : channels(config.num_channels),
        patch(config.patch_size),
        image(image_size),
        grid(config.grid(image_size)),
        batch(batch_size),
        stride(image_tokens * config.hidden_size),
        pixels(grid.height * grid.width, kernel.in(), multiplied_type(kernel.precision()), memory),
        product(context, grid.height * grid.width, kernel, {}, {pixels.values().type, ValueType::f32}) {}

  /// pixels[n, (c, y, x)] = values[c, P gy + y, P gx + x] of patch n = (gy, gx). The grid is rounded down:
  /// pixels right of and below the last whole patch belong to no patch.
  template <class T>
  void unfold(const float* values, T* to) const {
    const std::int64_t in = channels * patch.height * patch.width;
#pragma omp parallel for
    for (std::int64_t gy = 0; gy < grid.height; ++gy) {
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t y = 0; y < patch.height; ++y) {
          const float* row = values + (c * image.height + gy * patch.height + y) * image.width;
          T* segment = to + gy * grid.width * in + (c * patch.height + y) * patch.width;
          for (std::int64_t gx = 0; gx < grid.width; ++gx, row += patch.width, segment += in)
            copy_row(row, patch.width, segment);
        }
      }
    }
  }

  std::int64_t channels;
  Size2 patch;
  Size2 image;
  Size2 grid;
  std::int64_t batch;
  std::int64_t stride;  // floats from image to image in dst
  LargeMemoryPool memory;
  ValueBuffer pixels;  // of one image, [N, C P P]
  Linear product;
};

PatchConvolution::PatchConvolution(Context& context, const ModelConfig& config, const PackedLinear& kernel,
                                   std::int64_t batch, Size2 image, std::int64_t tokens_per_image)
    : impl_(std::make_unique<Impl>(context, config, kernel, batch, image, tokens_per_image)) {}

PatchConvolution::~PatchConvolution() = default;
PatchConvolution::PatchConvolution(PatchConvolution&&) noexcept = default;

void PatchConvolution::run(const float* pixel_values, const PackedLinear& kernel, float* dst) {
  Impl& impl = *impl_;
  const std::int64_t image_floats = impl.channels * impl.image.height * impl.image.width;
  const Values pixels = impl.pixels.values();
  for (std::int64_t b = 0; b < impl.batch; ++b) {
    const float* const image = pixel_values + b * image_floats;
    if (pixels.type == ValueType::f32) {
      impl.unfold(image, static_cast<float*>(pixels.data));
    } else {
      impl.unfold(image, static_cast<bf16_t*>(pixels.data));
    }
    impl.product.run(pixels, kernel, dst + b * impl.stride);
  }
}

const std::string& PatchConvolution::kernel() const {
  return impl_->product.kernel();
}

}  // namespace vit::backend
