#include "vit/backend/linear.hpp"

#include <algorithm>
#include <array>

#include "vit/backend/convert.hpp"
#include "vit/backend/eltwise.hpp"
#include "vit/backend/packed_linear.hpp"
#include "vit/backend/row_kernels.hpp"

namespace vit::backend {
namespace {

/// The post-ops that oneDNN's product does itself.
dnnl::post_ops fused(const Epilogue& epilogue, const dnnl::memory::desc& dst) {
  dnnl::post_ops ops;
  if (epilogue.activation) append_eltwise(ops, *epilogue.activation);
  if (epilogue.accumulate) ops.append_sum(1.0F);
  if (epilogue.multiply) ops.append_binary(dnnl::algorithm::binary_mul, dst);
  return ops;
}

/// The activation among those that a row's own epilogue has.
std::optional<RowActivation> row_activation(std::optional<Activation> activation) {
  if (!activation) return RowActivation::none;
  switch (*activation) {
    case Activation::identity:
      return RowActivation::none;
    case Activation::gelu:
      return RowActivation::gelu;
    case Activation::gelu_tanh:
      return RowActivation::gelu_tanh;
    case Activation::quick_gelu:
      return RowActivation::quick_gelu;
    case Activation::relu:
      return RowActivation::relu;
    case Activation::silu:
      return RowActivation::silu;
    default:
      return {};
  }
}

}  // namespace

/// int8 differs from the others in what follows the product: the scale of each row of src, which oneDNN has
/// no fast post-op for, and with it all the rest.
struct Linear::Impl {
  Impl(Context& context, std::int64_t row_count, const PackedLinear& like, const Epilogue& what_follows,
       ValueType given, const Product& chosen)
      : rows(row_count),
        out(like.out()),
        in(like.in()),
        epilogue(what_follows),
        quantised(like.precision() == Precision::int8),
        context_impl(&context.impl()),
        product(context, chosen.description, chosen.primitive),
        src(unbound(chosen.src)),
        dst(unbound(chosen.dst)),
        factor(unbound(chosen.dst)) {
    const ValueType multiplied = multiplied_type(like.precision());
    if (given != multiplied) rounded = ValueBuffer(rows, in, multiplied, memory);
    if (quantised) {
      context.impl().reserve_sums(rows * out);
      activation = row_activation(epilogue.activation);
      if (!activation) build_eltwise(context);
    } else if (epilogue.activation && !has_eltwise(*epilogue.activation)) {
      behind = epilogue.activation;
    }
  }

  /// For the activations of int8 that neither the row's epilogue nor a post-op of its product can do.
  void build_eltwise(Context& context) {
    if (!has_eltwise(*epilogue.activation)) {
      behind = epilogue.activation;
      return;
    }
    const auto md = dense({rows, out});
    dnnl::post_ops ops;
    append_eltwise(ops, *epilogue.activation);
    dnnl::primitive_attr attr = base_attr();
    attr.set_post_ops(ops);
    const dnnl::eltwise_forward::primitive_desc pd(engine(), dnnl::prop_kind::forward_inference,
                                                   dnnl::algorithm::eltwise_linear, md, md, 1, 0, attr);
    eltwise.emplace(context, pd, dnnl::eltwise_forward(pd));
    sums_memory = unbound(md);
  }

  /// `factors`: of Epilogue::multiply, else null.
  void run(ConstValues values, const PackedLinear::Impl& weights, const void* factors, Values to);
  ConstValues multiplicand(ConstValues values);
  void multiply(ConstValues values, const PackedLinear::Impl& weights, const void* factors, void* to);
  void finish_rows(ConstValues multiplied, const PackedLinear::Impl& weights, const float* factors,
                   Values to);

  std::int64_t rows;
  std::int64_t out;
  std::int64_t in;
  Epilogue epilogue;
  bool quantised;
  Context::Impl* context_impl;
  Primitive product;
  LargeMemoryPool memory;
  ValueBuffer rounded;                      // src as it is multiplied, where that is not what src is
  std::optional<RowActivation> activation;  // of int8
  std::optional<Activation> behind;         // the activation that is no post-op
  std::optional<Primitive> eltwise;
  dnnl::memory src;
  dnnl::memory dst;
  dnnl::memory factor;
  dnnl::memory sums_memory;
};

Linear::Linear(Context& context, std::int64_t rows, const PackedLinear& like, const Epilogue& epilogue,
               const LinearTypes& types) {
  impl_ = guarded("build a linear layer", [&] {
    const bool quantised = like.precision() == Precision::int8;
    const ValueType dst = quantised ? ValueType::f32 : types.dst;
    const dnnl::post_ops ops = quantised ? dnnl::post_ops() : fused(epilogue, dense({rows, like.out()}, dst));
    const PackedLinear::Impl& weights = like.impl();
    const Product product =
        describe_product(weights.kind, rows, {like.in(), like.out(), like.precision(), weights.has_bias},
                         weights.weights.get_desc(), ops, dst);
    return std::make_unique<Impl>(context, rows, like, epilogue, types.src, product);
  });
}

Linear::~Linear() = default;
Linear::Linear(Linear&&) noexcept = default;

ConstValues Linear::Impl::multiplicand(ConstValues values) {
  if (rounded.size() == 0) return values;
  convert_rows(values, {rows, in}, rounded.values());
  return rounded.values();
}

void Linear::Impl::multiply(ConstValues values, const PackedLinear::Impl& w, const void* factors, void* to) {
  bind(src, values.data);
  bind(dst, to);
  std::array<dnnl_exec_arg_t, 6> args;
  std::size_t count = 0;
  args[count++] = {DNNL_ARG_SRC, src.get()};
  args[count++] = {DNNL_ARG_WEIGHTS, w.weights.get()};
  args[count++] = {DNNL_ARG_DST, dst.get()};
  if (quantised) {
    args[count++] = {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, w.scales.get()};
  } else if (w.has_bias) {
    args[count++] = {DNNL_ARG_BIAS, w.bias.get()};
  }
  if (factors != nullptr) {
    bind(factor, factors);
    args[count++] = {DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, factor.get()};
  }
  product.execute({args.data(), count});
}

void Linear::Impl::finish_rows(ConstValues multiplied, const PackedLinear::Impl& w, const float* factors,
                               Values to) {
  const RowKernels& kernels = row_kernels();
  float* const sums = context_impl->sums();
  const auto row_of = [&](std::int64_t row) {
    return QuantisedSums{sums + row * out, multiplied.scales[row], w.zero_sums.data(), w.row_bias.data(),
                         out};
  };
  if (epilogue.accumulate) {
#pragma omp parallel for
    for (std::int64_t row = 0; row < rows; ++row)
      kernels.dequantise_add(row_of(row), static_cast<float*>(to.data) + row * out);
    return;
  }
  const RowActivation act = activation.value_or(RowActivation::none);
  if (activation && factors == nullptr && to.type == ValueType::bf16) {
#pragma omp parallel for
    for (std::int64_t row = 0; row < rows; ++row)
      kernels.dequantise_bf16(row_of(row), act, static_cast<bf16_t*>(to.data) + row * out);
    return;
  }
  float* const plain = to.type == ValueType::f32 ? static_cast<float*>(to.data) : sums;
#pragma omp parallel for
  for (std::int64_t row = 0; row < rows; ++row) {
    float* const y = plain + row * out;
    kernels.dequantise(row_of(row), act, y);
    if (factors != nullptr)
      for (std::int64_t i = 0; i < out; ++i) y[i] *= factors[row * out + i];
    if (activation && to.type != ValueType::f32) convert_row(y, out, to, row);
  }
  if (activation) return;
  if (eltwise) {
    bind(sums_memory, plain);
    eltwise->execute({{DNNL_ARG_SRC, sums_memory.get()}, {DNNL_ARG_DST, sums_memory.get()}});
  }
  if (behind) activate_in_place(*behind, plain, rows * out);
  if (to.type != ValueType::f32) convert_rows(plain, {rows, out}, to);
}

void Linear::Impl::run(ConstValues values, const PackedLinear::Impl& w, const void* factors, Values to) {
  const ConstValues multiplied = multiplicand(values);
  if (quantised) {
    multiply(multiplied, w, nullptr, context_impl->sums());
    finish_rows(multiplied, w, static_cast<const float*>(factors), to);
    return;
  }
  multiply(multiplied, w, factors, to.data);
  if (behind) activate_in_place(*behind, static_cast<float*>(to.data), rows * out);
}

void Linear::run(ConstValues src, const PackedLinear& weights, Values dst) {
  impl_->run(src, weights.impl(), nullptr, dst);
}

void Linear::run_times(ConstValues factor, ConstValues src, const PackedLinear& weights, Values dst) {
  impl_->run(src, weights.impl(), factor.data, dst);
}

const std::string& Linear::kernel() const {
  return impl_->product.kernel();
}

}  // namespace vit::backend
