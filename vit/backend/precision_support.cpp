#include "vit/backend/precision_support.hpp"

#include "vit/backend/eltwise.hpp"

namespace vit::backend {
namespace {

/// oneDNN's instruction sets are sets of bits, a richer one containing those it builds on.
bool has_isa(dnnl::cpu_isa wanted) {
  const auto bits = static_cast<unsigned>(wanted);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
}

}  // namespace

bool has_precision(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return true;
    case Precision::bf16:
      return has_isa(dnnl::cpu_isa::avx512_core_bf16);
    case Precision::int8:
      return has_isa(dnnl::cpu_isa::avx512_core_vnni) || has_isa(dnnl::cpu_isa::avx2_vnni);
  }
  return false;
}

std::string needed_instructions(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "none";
    case Precision::bf16:
      return "AVX-512 BF16";
    case Precision::int8:
      return "AVX-512 VNNI or AVX-VNNI";
  }
  return "";
}

bool is_fused(Activation activation) {
  return has_eltwise(activation);
}

}  // namespace vit::backend
