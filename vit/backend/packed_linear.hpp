// What is behind PackedLinear. Internal to vit/backend.
#pragma once

#include "vit/backend/linear.hpp"
#include "vit/backend/primitive.hpp"

namespace vit::backend {

struct PackedLinear::Impl {
  dnnl::memory weights;
  dnnl::memory bias;  // of fp32 and bf16, where there is one
  bool has_bias = false;
  // Of int8, for the epilogue of our own:
  dnnl::memory scales;  // [out]: w = scale · the stored integer
  Tensor row_bias;      // [out], zeros where there is none
  Tensor zero_sums;     // [out]: Σ w over the inputs
};

struct MatmulShape {
  std::int64_t in;
  std::int64_t out;
  Precision precision;
  bool bias;
};

/// oneDNN's matmul of a layer; src has the type that the precision multiplies. Without a layout of the
/// weights oneDNN chooses one.
dnnl::matmul::primitive_desc describe_matmul(std::int64_t rows, const MatmulShape& shape,
                                             const dnnl::memory::desc& weights, const dnnl::post_ops& ops,
                                             ValueType dst);

/// What products of this precision read.
ValueType multiplied_type(Precision precision);

}  // namespace vit::backend
