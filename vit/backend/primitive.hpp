// The thin layer over oneDNN that every kernel in this folder is built from. Not included outside
// vit/backend.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <new>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <string>
#include <vector>

#include "vit/backend/context.hpp"
#include "vit/error.hpp"
#include "vit/large_memory.hpp"
#include "vit/tensor.hpp"
#include "vit/values.hpp"

namespace vit::backend {

/// The CPU engine; one for the process, as oneDNN objects that meet must share theirs.
const dnnl::engine& engine();

/// Runs `body`; what oneDNN throws becomes std::bad_alloc, or Error(internal) that says what was being done.
template <class Body>
auto guarded(const char* what, Body&& body) {
  try {
    return body();
  } catch (const dnnl::error& e) {
    if (e.status == dnnl_out_of_memory) throw std::bad_alloc();
    throw Error(ErrorCode::internal, std::string("oneDNN could not ") + what + ": " + e.what());
  }
}

struct Context::Impl {
  dnnl::stream stream{engine()};
  Tensor scratchpad;  // f32 only for its alignment

  LargeMemory sums_memory;
  std::int64_t sums_size = 0;

  /// Sums of int8 products, before their scales are applied.
  float* sums() { return static_cast<float*>(static_cast<void*>(sums_memory.data())); }

  /// Grows the shared scratchpad; only while kernels are being built, as below.
  void reserve(std::size_t bytes);
  void reserve_sums(std::int64_t count);
};

/// oneDNN's name of a type.
dnnl::memory::data_type data_type(ValueType type);
/// Memory descriptor with the given strides (in elements).
dnnl::memory::desc strided(const dnnl::memory::dims& dims, const dnnl::memory::dims& strides,
                           ValueType type = ValueType::f32);
/// Memory descriptor, dense and row-major.
dnnl::memory::desc dense(const dnnl::memory::dims& dims, ValueType type = ValueType::f32);
/// Memory descriptor whose layout oneDNN chooses.
dnnl::memory::desc any_layout(const dnnl::memory::dims& dims,
                              dnnl::memory::data_type type = dnnl::memory::data_type::f32);
/// Memory without a buffer: bind() gives it one before each run.
dnnl::memory unbound(const dnnl::memory::desc& md);
/// Points `memory` at `data`. oneDNN's handle is not const even where it only reads.
void bind(dnnl::memory& memory, const void* data);
/// Attributes that every primitive here has: strict fp32 arithmetic, caller-owned scratchpad.
dnnl::primitive_attr base_attr();

/// A primitive and its place in the context's scratchpad. execute() allocates nothing: the C++ wrapper of
/// oneDNN builds a hash map and a vector for each call, the C function underneath does not.
class Primitive {
 public:
  Primitive(Context& context, const dnnl::primitive_desc_base& pd, const dnnl::primitive& primitive);

  void execute(std::span<const dnnl_exec_arg_t> args);
  void execute(std::initializer_list<dnnl_exec_arg_t> args) {
    execute(std::span<const dnnl_exec_arg_t>(args.begin(), args.size()));
  }

  /// oneDNN's name of the kernel, e.g. "brg:avx512_core".
  const std::string& kernel() const { return kernel_; }

 private:
  static constexpr std::size_t kMaxArgs = 8;

  Context::Impl* context_;
  dnnl::primitive primitive_;
  dnnl::memory scratchpad_;
  std::string kernel_;
};

/// Copies from one layout or type to another.
Primitive build_reorder(Context& context, const dnnl::memory::desc& from, const dnnl::memory::desc& to);

}  // namespace vit::backend
