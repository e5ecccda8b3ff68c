#include "vit/backend/square_matmul.hpp"

#include "vit/backend/packed_linear.hpp"
#include "vit/backend/primitive.hpp"
#include "vit/large_memory.hpp"

namespace vit::backend {
namespace {

using DataType = dnnl::memory::data_type;

struct Types {
  DataType src, weights, dst;
};

Types types_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      break;  // has no types of its own here
    case Precision::bf16:
      return {DataType::bf16, DataType::bf16, DataType::bf16};
    case Precision::int8:
      return {DataType::u8, DataType::s8, DataType::s32};
  }
  throw Error(ErrorCode::internal, "a matmul of no known precision");
}

/// Of fp32 as the layers do it.
Product describe(Precision precision, std::int64_t size) {
  if (precision == Precision::fp32) {
    const ProductShape shape{size, size, precision, false};
    return describe_product(product_kind(size, shape), size, shape, {}, {}, ValueType::f32);
  }
  const Types types = types_of(precision);
  const auto row_major = [&](DataType type) {
    return dnnl::memory::desc({size, size}, type, dnnl::memory::format_tag::ab);
  };
  const dnnl::memory::desc weights({size, size}, types.weights, dnnl::memory::format_tag::any);
  const dnnl::matmul::primitive_desc pd(engine(), row_major(types.src), weights, row_major(types.dst),
                                        base_attr());
  return {pd, dnnl::matmul(pd), pd.src_desc(), pd.weights_desc(), pd.dst_desc()};
}

/// Small whole numbers, which every type holds: no zeros that an operation might be cheaper for.
void fill(dnnl::memory& to, std::int64_t size) {
  Tensor values({size, size});
  for (std::int64_t i = 0; i < values.size(); ++i) values.data()[i] = static_cast<float>(1 + i % 7);
  dnnl::stream stream(engine());
  dnnl::memory from(dense({size, size}), engine(), values.data());
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
}

/// On pages that a limit may be measured with.
struct LargeMatrix {
  explicit LargeMatrix(const dnnl::memory::desc& md)
      : bytes(md.get_size()), memory(md, engine(), bytes.data()) {}

  LargeMemory bytes;
  dnnl::memory memory;
};

}  // namespace

struct SquareMatmul::Impl {
  Impl(Context& context, const Product& chosen, std::int64_t size)
      : product(context, chosen.description, chosen.primitive),
        src(chosen.src),
        weights(chosen.weights),
        dst(chosen.dst) {
    fill(src.memory, size);
    fill(weights.memory, size);
  }

  Primitive product;
  LargeMatrix src;
  LargeMatrix weights;
  LargeMatrix dst;
};

SquareMatmul::SquareMatmul(Context& context, Precision precision, std::int64_t size) {
  impl_ = guarded("build a square matmul",
                  [&] { return std::make_unique<Impl>(context, describe(precision, size), size); });
}

SquareMatmul::~SquareMatmul() = default;
SquareMatmul::SquareMatmul(SquareMatmul&&) noexcept = default;

void SquareMatmul::run() {
  impl_->product.execute({{DNNL_ARG_SRC, impl_->src.memory.get()},
                         {DNNL_ARG_WEIGHTS, impl_->weights.memory.get()},
                         {DNNL_ARG_DST, impl_->dst.memory.get()}});
}

const std::string& SquareMatmul::kernel() const {
  return impl_->product.kernel();
}

}  // namespace vit::backend
