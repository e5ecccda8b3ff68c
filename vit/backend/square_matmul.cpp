#include "vit/backend/square_matmul.hpp"

#include "vit/backend/primitive.hpp"

namespace vit::backend {
namespace {

using DataType = dnnl::memory::data_type;

struct Types {
  DataType src, weights, dst;
};

Types types_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return {DataType::f32, DataType::f32, DataType::f32};
    case Precision::bf16:
      return {DataType::bf16, DataType::bf16, DataType::bf16};
    case Precision::int8:
      return {DataType::u8, DataType::s8, DataType::s32};
  }
  throw Error(ErrorCode::internal, "a matmul of no known precision");
}

dnnl::matmul::primitive_desc describe(Precision precision, std::int64_t size) {
  const Types types = types_of(precision);
  const auto row_major = [&](DataType type) {
    return dnnl::memory::desc({size, size}, type, dnnl::memory::format_tag::ab);
  };
  const dnnl::memory::desc weights({size, size}, types.weights, dnnl::memory::format_tag::any);
  return {engine(), row_major(types.src), weights, row_major(types.dst), base_attr()};
}

/// Small whole numbers, which every type holds: no zeros that an operation might be cheaper for.
dnnl::memory filled(const dnnl::memory::desc& md, std::int64_t size) {
  Tensor values({size, size});
  for (std::int64_t i = 0; i < values.size(); ++i) values.data()[i] = static_cast<float>(1 + i % 7);
  dnnl::stream stream(engine());
  dnnl::memory from(dense({size, size}), engine(), values.data());
  dnnl::memory to(md, engine());
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  return to;
}

}  // namespace

struct SquareMatmul::Impl {
  Impl(Context& context, const dnnl::matmul::primitive_desc& pd, std::int64_t size)
      : matmul(context, pd, dnnl::matmul(pd)),
        src(filled(pd.src_desc(), size)),
        weights(filled(pd.weights_desc(), size)),
        dst(pd.dst_desc(), engine()) {}

  Primitive matmul;
  dnnl::memory src;
  dnnl::memory weights;
  dnnl::memory dst;
};

SquareMatmul::SquareMatmul(Context& context, Precision precision, std::int64_t size) {
  impl_ = guarded("build a square matmul",
                  [&] { return std::make_unique<Impl>(context, describe(precision, size), size); });
}

SquareMatmul::~SquareMatmul() = default;
SquareMatmul::SquareMatmul(SquareMatmul&&) noexcept = default;

void SquareMatmul::run() {
  impl_->matmul.execute({{DNNL_ARG_SRC, impl_->src.get()},
                         {DNNL_ARG_WEIGHTS, impl_->weights.get()},
                         {DNNL_ARG_DST, impl_->dst.get()}});
}

const std::string& SquareMatmul::kernel() const {
  return impl_->matmul.kernel();
}

}  // namespace vit::backend
