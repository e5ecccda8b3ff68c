// What is behind PackedLinear. Internal to vit/backend.
#pragma once

#include "vit/backend/linear.hpp"
#include "vit/backend/primitive.hpp"

namespace vit::backend {

/// Which of oneDNN's primitives does a product. For fp32 without AVX-512 its matmul knows only a kernel that
/// reads unpacked weights (in oneDNN 3.2 at a third to nine tenths of the speed), its inner product a better
/// one.
enum class ProductKind { matmul, inner_product };

struct PackedLinear::Impl {
  ProductKind kind = ProductKind::matmul;
  dnnl::memory weights;
  dnnl::memory bias;  // of fp32 and bf16, where there is one
  bool has_bias = false;
  // Of int8, for the epilogue of our own:
  dnnl::memory scales;  // [out]: w = scale · the stored integer
  Tensor row_bias;      // [out], zeros where there is none
  Tensor zero_sums;     // [out]: Σ w over the inputs
};

struct ProductShape {
  std::int64_t in;
  std::int64_t out;
  Precision precision;
  bool bias;
};

/// The best kind for a product of these sizes.
ProductKind product_kind(std::int64_t rows, const ProductShape& shape);

/// A primitive that is chosen, not yet built.
struct Product {
  dnnl::primitive_desc_base description;
  dnnl::primitive primitive;
  dnnl::memory::desc src;      ///< [rows, in], of the type that the precision multiplies
  dnnl::memory::desc weights;  ///< of a matmul [in, out], of an inner product [out, in]
  dnnl::memory::desc dst;      ///< [rows, out]
};

/// src Wᵀ + b, then `ops`. Without a layout of the weights oneDNN chooses one.
Product describe_product(ProductKind kind, std::int64_t rows, const ProductShape& shape,
                         const dnnl::memory::desc& weights, const dnnl::post_ops& ops, ValueType dst);

/// What products of this precision read.
ValueType multiplied_type(Precision precision);

}  // namespace vit::backend
