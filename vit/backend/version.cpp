#include <fmt/format.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "vit/measure.hpp"

namespace vit {

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

std::string onednn_build() {
  const dnnl_version_t* version = dnnl_version();
  const auto runtime = [&] {
    switch (version->cpu_runtime) {
      case DNNL_RUNTIME_SEQ:
        return "sequential";
      case DNNL_RUNTIME_OMP:
        return "OpenMP";
      case DNNL_RUNTIME_TBB:
        return "TBB";
      case DNNL_RUNTIME_THREADPOOL:
        return "thread pool";
      default:
        return "other threads";
    }
  };
  return fmt::format("{}, {:.8}", runtime(), version->hash);
}

std::string onednn_isa() {
  using dnnl::cpu_isa;
  switch (dnnl::get_effective_cpu_isa()) {
    case cpu_isa::isa_default:
      return "default";
    case cpu_isa::sse41:
      return "sse41";
    case cpu_isa::avx:
      return "avx";
    case cpu_isa::avx2:
      return "avx2";
    case cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case cpu_isa::avx512_core:
      return "avx512_core";
    case cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    case cpu_isa::avx512_core_fp16:
      return "avx512_core_fp16";
    case cpu_isa::avx512_core_amx:
      return "avx512_core_amx";
    case cpu_isa::avx512_core_amx_fp16:
      return "avx512_core_amx_fp16";
    default:
      return "other";
  }
}

}  // namespace vit
