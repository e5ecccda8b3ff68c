#include "vit/backend/patch_convolution.hpp"

#include <algorithm>

#include "vit/backend/primitive.hpp"

namespace vit::backend {

PatchKernel::PatchKernel(const LinearWeights& weights)
    : weight(weights.weight.to_tensor()), bias({weights.weight.shape.front()}) {
  if (weights.bias.empty()) {
    std::fill_n(bias.data(), bias.size(), 0.0F);
  } else {
    weights.bias.copy_to(bias.data());
  }
}

struct PatchConvolution::Impl {
  Impl(Context& context, const dnnl::convolution_forward::primitive_desc& pd,
       const dnnl::memory::desc& tokens_md)
      : convolution(context, pd, dnnl::convolution_forward(pd)),
        to_tokens(build_reorder(context, pd.dst_desc(), tokens_md)),
        src(unbound(pd.src_desc())),
        weights(pd.weights_desc(), engine()),
        bias(pd.bias_desc(), engine()),
        patches(pd.dst_desc(), engine()),
        tokens(unbound(tokens_md)) {}

  static Primitive build_reorder(Context& context, const dnnl::memory::desc& from,
                                 const dnnl::memory::desc& to) {
    const dnnl::reorder::primitive_desc pd(engine(), from, engine(), to, base_attr());
    return {context, pd, dnnl::reorder(pd)};
  }

  Primitive convolution;
  Primitive to_tokens;
  dnnl::memory src;
  dnnl::memory weights;
  dnnl::memory bias;
  dnnl::memory patches;  // in the layout that the convolution prefers
  dnnl::memory tokens;
};

PatchConvolution::PatchConvolution(Context& context, const ModelConfig& config, const PatchKernel& kernel,
                                   std::int64_t batch, Size2 image, std::int64_t tokens_per_image) {
  impl_ = guarded("build the patch embedding", [&] {
    const std::int64_t D = config.hidden_size;
    const Size2 patch = config.patch_size;
    const Size2 grid = config.grid(image);
    const dnnl::memory::dims kernel_dims{D, config.num_channels, patch.height, patch.width};
    // The division rounds down: pixels right of and below the last whole patch belong to no patch.
    const dnnl::convolution_forward::primitive_desc pd(
        engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
        dense({batch, config.num_channels, image.height, image.width}), any_layout(kernel_dims), dense({D}),
        any_layout({batch, D, grid.height, grid.width}), {patch.height, patch.width}, {0, 0}, {0, 0},
        base_attr());
    const auto tokens_md =
        strided({batch, D, grid.height, grid.width}, {tokens_per_image * D, 1, grid.width * D, D});
    auto impl = std::make_unique<Impl>(context, pd, tokens_md);
    dnnl::stream stream(engine());
    dnnl::memory plain(dense(kernel_dims), engine(), const_cast<float*>(kernel.weight.data()));
    dnnl::reorder(plain, impl->weights).execute(stream, plain, impl->weights);
    stream.wait();
    std::copy_n(kernel.bias.data(), D, static_cast<float*>(impl->bias.get_data_handle()));
    return impl;
  });
}

PatchConvolution::~PatchConvolution() = default;
PatchConvolution::PatchConvolution(PatchConvolution&&) noexcept = default;

void PatchConvolution::run(const float* pixel_values, float* dst) {
  bind(impl_->src, pixel_values);
  bind(impl_->tokens, dst);
  impl_->convolution.execute({{DNNL_ARG_SRC, impl_->src.get()},
                              {DNNL_ARG_WEIGHTS, impl_->weights.get()},
                              {DNNL_ARG_BIAS, impl_->bias.get()},
                              {DNNL_ARG_DST, impl_->patches.get()}});
  impl_->to_tokens.execute({{DNNL_ARG_FROM, impl_->patches.get()}, {DNNL_ARG_TO, impl_->tokens.get()}});
}

const std::string& PatchConvolution::kernel() const {
  return impl_->convolution.kernel();
}

}  // namespace vit::backend
