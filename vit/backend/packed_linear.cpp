#include "vit/backend/packed_linear.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "vit/quantised.hpp"

namespace vit::backend {
namespace {

dnnl::memory::data_type weight_type(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return dnnl::memory::data_type::f32;
    case Precision::bf16:
      return dnnl::memory::data_type::bf16;
    case Precision::int8:
      return dnnl::memory::data_type::s8;
  }
  return dnnl::memory::data_type::undef;
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

/// [out, in] numbers as they lie in a file, by the axes that the primitive gives them.
dnnl::memory::desc plain_layout(ProductKind kind, dnnl::memory::data_type type, std::int64_t in,
                                std::int64_t out) {
  if (kind == ProductKind::inner_product) return {{out, in}, type, dnnl::memory::dims{in, 1}};
  return {{in, out}, type, dnnl::memory::dims{1, in}};
}

/// Copies numbers into another layout.
dnnl::memory packed(const void* plain, const dnnl::memory::desc& layout, const dnnl::memory::desc& wanted,
                    LargeMemoryPool* pool) {
  dnnl::stream stream(engine());
  dnnl::memory from(layout, engine(), const_cast<void*>(plain));
  dnnl::memory to = pool != nullptr ? dnnl::memory(wanted, engine(), pool->take(wanted.get_size()))
                                    : dnnl::memory(wanted, engine());
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  return to;
}

/// Takes over the scales, times `out_scale` if that is not empty, and what follows from them. The integers
/// stay what they are, whatever the factors: those of a file need not be rounded again.
void take_scales(const QuantisedMatrix& matrix, std::int64_t in, std::span<const float> out_scale,
                 PackedLinear::Impl& impl) {
  const auto out = std::ssize(matrix.scales);
  impl.scales = dnnl::memory(dense({out}), engine());
  impl.zero_sums = Tensor({out});
  auto* const scales = static_cast<float*>(impl.scales.get_data_handle());
  for (std::int64_t o = 0; o < out; ++o) {
    const auto i = static_cast<std::size_t>(o);
    const std::int8_t* const row = matrix.levels.data() + o * in;
    const std::int64_t sum = std::accumulate(row, row + in, std::int64_t{0});
    scales[o] = out_scale.empty() ? matrix.scales[i] : matrix.scales[i] * out_scale[i];
    impl.zero_sums.data()[o] = static_cast<float>(sum) * scales[o];
  }
}

/// Zeros where there is none.
Tensor scaled_bias(const WeightView& bias, std::int64_t out, std::span<const float> out_scale) {
  Tensor values({out});
  std::fill_n(values.data(), out, 0.0F);
  if (bias.empty()) return values;
  bias.copy_to(values.data());
  if (!out_scale.empty()) scale_rows(values, 1, out_scale);
  return values;
}

}  // namespace

ValueType multiplied_type(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return ValueType::f32;
    case Precision::bf16:
      return ValueType::bf16;
    case Precision::int8:
      return ValueType::u8;
  }
  return ValueType::f32;
}

namespace {

dnnl::matmul::primitive_desc describe_matmul(std::int64_t rows, const ProductShape& shape,
                                             const dnnl::memory::desc& weights, const dnnl::post_ops& ops,
                                             ValueType dst) {
  dnnl::primitive_attr attr = base_attr();
  attr.set_post_ops(ops);
  const bool quantised = shape.precision == Precision::int8;
  constexpr int kPerOutput = 1 << 1;
  if (quantised) attr.set_scales_mask(DNNL_ARG_WEIGHTS, kPerOutput);
  return {engine(),
          dense({rows, shape.in}, multiplied_type(shape.precision)),
          weights.is_zero() ? any_layout({shape.in, shape.out}, weight_type(shape.precision)) : weights,
          shape.bias && !quantised ? dense({1, shape.out}) : dnnl::memory::desc(),
          dense({rows, shape.out}, dst),
          attr};
}

dnnl::inner_product_forward::primitive_desc describe_inner_product(std::int64_t rows,
                                                                   const ProductShape& shape,
                                                                   const dnnl::memory::desc& weights,
                                                                   const dnnl::post_ops& ops, ValueType dst) {
  dnnl::primitive_attr attr = base_attr();
  attr.set_post_ops(ops);
  return {engine(),
          dnnl::prop_kind::forward_inference,
          dense({rows, shape.in}, multiplied_type(shape.precision)),
          weights.is_zero() ? any_layout({shape.out, shape.in}, weight_type(shape.precision)) : weights,
          shape.bias ? dense({shape.out}) : dnnl::memory::desc(),
          dense({rows, shape.out}, dst),
          attr};
}

template <class Primitive, class Description>
Product chosen(const Description& pd) {
  return {pd, Primitive(pd), pd.src_desc(), pd.weights_desc(), pd.dst_desc()};
}

}  // namespace

ProductKind product_kind(std::int64_t rows, const ProductShape& shape) {
  if (shape.precision != Precision::fp32) return ProductKind::matmul;
  const auto pd = describe_matmul(rows, shape, {}, {}, ValueType::f32);
  const bool packs = !std::string_view(pd.impl_info_str()).starts_with("gemm:");
  return packs ? ProductKind::matmul : ProductKind::inner_product;
}

Product describe_product(ProductKind kind, std::int64_t rows, const ProductShape& shape,
                         const dnnl::memory::desc& weights, const dnnl::post_ops& ops, ValueType dst) {
  if (kind == ProductKind::inner_product)
    return chosen<dnnl::inner_product_forward>(describe_inner_product(rows, shape, weights, ops, dst));
  return chosen<dnnl::matmul>(describe_matmul(rows, shape, weights, ops, dst));
}

PackedLinear::PackedLinear(const LinearWeights& weights, const Packing& packing,
                           std::span<const float> out_scale)
    : out_(weights.weight.shape.front()), precision_(packing.precision), impl_(std::make_unique<Impl>()) {
  in_ = weights.weight.size() / out_;
  guarded("pack the weights of a linear layer", [&] {
    impl_->has_bias = !weights.bias.empty();
    const ValueType dst = precision_ == Precision::bf16 ? ValueType::bf16 : ValueType::f32;
    const ProductShape shape{in_, out_, precision_, impl_->has_bias};
    impl_->kind = product_kind(packing.rows, shape);
    const dnnl::memory::desc wanted = describe_product(impl_->kind, packing.rows, shape, {}, {}, dst).weights;
    const auto layout = [&](dnnl::memory::data_type type) {
      return plain_layout(impl_->kind, type, in_, out_);
    };
    Tensor bias = scaled_bias(weights.bias, out_, out_scale);
    if (precision_ == Precision::int8) {
      const QuantisedMatrix matrix = quantise(weights.weight);
      take_scales(matrix, in_, out_scale, *impl_);
      impl_->weights =
          packed(matrix.levels.data(), layout(dnnl::memory::data_type::s8), wanted, packing.pool);
      impl_->row_bias = std::move(bias);
      return;
    }
    const float* plain = out_scale.empty() ? in_place(weights.weight) : nullptr;
    Tensor copy;
    if (plain == nullptr) {
      copy = transient({out_, in_});
      weights.weight.copy_to(copy.data());
      if (!out_scale.empty()) scale_rows(copy, in_, out_scale);
      plain = copy.data();
    }
    impl_->weights = packed(plain, layout(dnnl::memory::data_type::f32), wanted, packing.pool);
    if (impl_->has_bias) {
      const bool one_axis = impl_->kind == ProductKind::inner_product;
      impl_->bias = dnnl::memory(one_axis ? dense({out_}) : dense({1, out_}), engine());
      std::copy_n(bias.data(), out_, static_cast<float*>(impl_->bias.get_data_handle()));
    }
  });
}

PackedLinear::~PackedLinear() = default;
PackedLinear::PackedLinear(PackedLinear&&) noexcept = default;
PackedLinear& PackedLinear::operator=(PackedLinear&&) noexcept = default;

}  // namespace vit::backend
