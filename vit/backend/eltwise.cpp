#include "vit/backend/eltwise.hpp"

namespace vit::backend {

void append_eltwise(dnnl::post_ops& ops, Activation activation) {
  using dnnl::algorithm;
  switch (activation) {
    // Not eltwise_gelu, which is an alias of the tanh form.
    case Activation::gelu:
      ops.append_eltwise(algorithm::eltwise_gelu_erf, 0, 0);
      return;
    case Activation::gelu_tanh:
      ops.append_eltwise(algorithm::eltwise_gelu_tanh, 0, 0);
      return;
    case Activation::quick_gelu:
      ops.append_eltwise(algorithm::eltwise_swish, 1.702F, 0);
      return;
    case Activation::relu:
      ops.append_eltwise(algorithm::eltwise_relu, 0, 0);
      return;
    case Activation::silu:
      ops.append_eltwise(algorithm::eltwise_swish, 1, 0);
      return;
    case Activation::tanh:
      ops.append_eltwise(algorithm::eltwise_tanh, 0, 0);
      return;
    case Activation::sigmoid:
      ops.append_eltwise(algorithm::eltwise_logistic, 0, 0);
      return;
    case Activation::identity:
      return;
  }
}

}  // namespace vit::backend
