#include "vit/backend/linear.hpp"

#include <algorithm>
#include <cstdint>

#include "vit/backend/eltwise.hpp"
#include "vit/backend/primitive.hpp"

namespace vit::backend {

struct PackedLinear::Impl {
  Tensor storage;  ///< of `weights`; f32 only for its alignment
  dnnl::memory weights;
  dnnl::memory bias;
  bool has_bias = false;
};

namespace {

dnnl::matmul::primitive_desc describe(std::int64_t rows, std::int64_t in, std::int64_t out,
                                      const dnnl::memory::desc& weights, bool bias,
                                      const Epilogue& epilogue) {
  dnnl::post_ops ops;
  if (epilogue.activation) append_eltwise(ops, *epilogue.activation);
  if (epilogue.accumulate) ops.append_sum(1.0F);
  if (epilogue.multiply) ops.append_binary(dnnl::algorithm::binary_mul, dense({rows, out}));
  dnnl::primitive_attr attr = base_attr();
  attr.set_post_ops(ops);
  return {
      engine(), dense({rows, in}), weights, bias ? dense({1, out}) : dnnl::memory::desc(), dense({rows, out}),
      attr};
}

/// Multiplies row i of a [scale.size(), in] matrix by scale[i].
void scale_rows(Tensor& matrix, std::int64_t in, std::span<const float> scale) {
  float* row = matrix.data();
  for (const float factor : scale) {
    for (std::int64_t i = 0; i < in; ++i) row[i] *= factor;
    row += in;
  }
}

/// Room for a matrix that is needed for a moment. Asks for more than the 32 MiB from which on glibc's malloc
/// always maps memory of its own, so that what was touched of it goes back to the system; smaller ones would
/// leave holes between the packed weights, a fifth of their size in a network of gigabytes.
Tensor transient(const Shape& shape) {
  constexpr std::int64_t kMapped = (std::int64_t{33} << 20) / sizeof(float);
  return Tensor({std::max(element_count(shape), kMapped)});
}

/// The matrix as it lies in its file, if oneDNN can read it there.
const float* in_place(const WeightView& weight) {
  if (weight.parts.size() != 1) return nullptr;
  const WeightPart& part = weight.parts.front();
  const bool plain = part.dtype == DType::f32 && part.transposed_rows == 0;
  const bool aligned = reinterpret_cast<std::uintptr_t>(part.data) % alignof(float) == 0;
  return plain && aligned ? reinterpret_cast<const float*>(part.data) : nullptr;
}

/// [in, out] of a row-major [out, in] into `storage`, in the layout `wanted`.
dnnl::memory packed(const float* plain, const dnnl::memory::desc& wanted, Tensor& storage) {
  const std::int64_t in = wanted.get_dims()[0];
  const std::int64_t out = wanted.get_dims()[1];
  storage = Tensor({static_cast<std::int64_t>((wanted.get_size() + sizeof(float) - 1) / sizeof(float))});
  dnnl::stream stream(engine());
  dnnl::memory from(strided({in, out}, {1, in}), engine(), const_cast<float*>(plain));
  dnnl::memory to(wanted, engine(), storage.data());
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  return to;
}

}  // namespace

PackedLinear::PackedLinear(const LinearWeights& weights, std::int64_t rows, std::span<const float> out_scale)
    : out_(weights.weight.shape.front()), impl_(std::make_unique<Impl>()) {
  in_ = weights.weight.size() / out_;
  guarded("pack the weights of a linear layer", [&] {
    impl_->has_bias = !weights.bias.empty();
    const auto pd = describe(rows, in_, out_, any_layout({in_, out_}), impl_->has_bias, {});
    const float* plain = out_scale.empty() ? in_place(weights.weight) : nullptr;
    Tensor copy;
    if (plain == nullptr) {
      copy = transient({out_, in_});
      weights.weight.copy_to(copy.data());
      if (!out_scale.empty()) scale_rows(copy, in_, out_scale);
      plain = copy.data();
    }
    impl_->weights = packed(plain, pd.weights_desc(), impl_->storage);
    if (impl_->has_bias) {
      Tensor bias = weights.bias.to_tensor();
      if (!out_scale.empty()) scale_rows(bias, 1, out_scale);
      impl_->bias = dnnl::memory(dense({1, out_}), engine());
      std::copy_n(bias.data(), out_, static_cast<float*>(impl_->bias.get_data_handle()));
    }
  });
}

PackedLinear::~PackedLinear() = default;
PackedLinear::PackedLinear(PackedLinear&&) noexcept = default;
PackedLinear& PackedLinear::operator=(PackedLinear&&) noexcept = default;

struct Linear::Impl {
  Impl(Context& context, const dnnl::matmul::primitive_desc& pd, std::optional<Activation> activation)
      : matmul(context, pd, dnnl::matmul(pd)),
        size(pd.dst_desc().get_dims()[0] * pd.dst_desc().get_dims()[1]),
        src(unbound(pd.src_desc())),
        dst(unbound(pd.dst_desc())),
        factor(unbound(pd.dst_desc())) {
    if (activation && !has_eltwise(*activation)) behind = activation;
  }

  Primitive matmul;
  std::optional<Activation> behind;  ///< the activation that is no post-op
  std::int64_t size;
  dnnl::memory src;
  dnnl::memory dst;
  dnnl::memory factor;
};

Linear::Linear(Context& context, std::int64_t rows, const PackedLinear& like, const Epilogue& epilogue) {
  impl_ = guarded("build a linear layer", [&] {
    return std::make_unique<Impl>(
        context,
        describe(rows, like.in(), like.out(), like.impl().weights.get_desc(), like.impl().has_bias, epilogue),
        epilogue.activation);
  });
}

Linear::~Linear() = default;
Linear::Linear(Linear&&) noexcept = default;

void Linear::run(const float* src, const PackedLinear& weights, float* dst) {
  bind(impl_->src, src);
  bind(impl_->dst, dst);
  const PackedLinear::Impl& w = weights.impl();
  const dnnl_exec_arg_t src_arg{DNNL_ARG_SRC, impl_->src.get()};
  const dnnl_exec_arg_t weights_arg{DNNL_ARG_WEIGHTS, w.weights.get()};
  const dnnl_exec_arg_t dst_arg{DNNL_ARG_DST, impl_->dst.get()};
  if (w.has_bias) {
    impl_->matmul.execute({src_arg, weights_arg, {DNNL_ARG_BIAS, w.bias.get()}, dst_arg});
  } else {
    impl_->matmul.execute({src_arg, weights_arg, dst_arg});
  }
  if (impl_->behind) activate_in_place(*impl_->behind, dst, impl_->size);
}

void Linear::run_times(const float* factor, const float* src, const PackedLinear& weights, float* dst) {
  bind(impl_->src, src);
  bind(impl_->dst, dst);
  bind(impl_->factor, factor);
  const PackedLinear::Impl& w = weights.impl();
  const dnnl_exec_arg_t src_arg{DNNL_ARG_SRC, impl_->src.get()};
  const dnnl_exec_arg_t weights_arg{DNNL_ARG_WEIGHTS, w.weights.get()};
  const dnnl_exec_arg_t dst_arg{DNNL_ARG_DST, impl_->dst.get()};
  const dnnl_exec_arg_t factor_arg{DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, impl_->factor.get()};
  if (w.has_bias) {
    impl_->matmul.execute({src_arg, weights_arg, {DNNL_ARG_BIAS, w.bias.get()}, dst_arg, factor_arg});
  } else {
    impl_->matmul.execute({src_arg, weights_arg, dst_arg, factor_arg});
  }
}

const std::string& Linear::kernel() const {
  return impl_->matmul.kernel();
}

}  // namespace vit::backend
