#include "vit/backend/layer_norm.hpp"

#include "vit/backend/primitive.hpp"

namespace vit::backend {

struct LayerNorm::Impl {
  Impl(Context& context, const dnnl::layer_normalization_forward::primitive_desc& pd, std::int64_t size)
      : norm(context, pd, dnnl::layer_normalization_forward(pd)),
        src(unbound(pd.src_desc())),
        gamma(unbound(dense({size}))),
        beta(unbound(dense({size}))),
        dst(unbound(pd.dst_desc())) {}

  Primitive norm;
  dnnl::memory src;
  dnnl::memory gamma;
  dnnl::memory beta;
  dnnl::memory dst;
};

LayerNorm::LayerNorm(Context& context, std::int64_t rows, std::int64_t size, float epsilon, ValueType dst) {
  impl_ = guarded("build a layer norm", [&] {
    const auto src_md = dense({rows, size});
    const dnnl::layer_normalization_forward::primitive_desc pd(
        engine(), dnnl::prop_kind::forward_inference, src_md, dense({rows, size}, dst), epsilon,
        dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift, base_attr());
    return std::make_unique<Impl>(context, pd, size);
  });
}

LayerNorm::~LayerNorm() = default;
LayerNorm::LayerNorm(LayerNorm&&) noexcept = default;

void LayerNorm::run(const float* src, const NormParameters& parameters, Values dst) {
  bind(impl_->src, src);
  bind(impl_->gamma, parameters.gamma.data());
  bind(impl_->beta, parameters.beta.data());
  bind(impl_->dst, dst.data);
  impl_->norm.execute({{DNNL_ARG_SRC, impl_->src.get()},
                       {DNNL_ARG_SCALE, impl_->gamma.get()},
                       {DNNL_ARG_SHIFT, impl_->beta.get()},
                       {DNNL_ARG_DST, impl_->dst.get()}});
}

const std::string& LayerNorm::kernel() const {
  return impl_->norm.kernel();
}

}  // namespace vit::backend
