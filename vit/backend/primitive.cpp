#include "vit/backend/primitive.hpp"

#include <array>

namespace vit::backend {

const dnnl::engine& engine() {
  // Never destroyed: a Session that the host keeps until the process ends may outlive every static object.
  static const dnnl::engine& cpu =
      *guarded("create its CPU engine", [] { return new dnnl::engine(dnnl::engine::kind::cpu, 0); });
  return cpu;
}

dnnl::memory::data_type data_type(ValueType type) {
  switch (type) {
    case ValueType::f32:
      return dnnl::memory::data_type::f32;
    case ValueType::bf16:
      return dnnl::memory::data_type::bf16;
    case ValueType::u8:
      return dnnl::memory::data_type::u8;
  }
  return dnnl::memory::data_type::undef;
}

dnnl::memory::desc strided(const dnnl::memory::dims& dims, const dnnl::memory::dims& strides,
                           ValueType type) {
  return {dims, data_type(type), strides};
}

dnnl::memory::desc dense(const dnnl::memory::dims& dims, ValueType type) {
  dnnl::memory::dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strided(dims, strides, type);
}

dnnl::memory::desc any_layout(const dnnl::memory::dims& dims, dnnl::memory::data_type type) {
  return {dims, type, dnnl::memory::format_tag::any};
}

dnnl::memory unbound(const dnnl::memory::desc& md) {
  return {md, engine(), DNNL_MEMORY_NONE};
}

void bind(dnnl::memory& memory, const void* data) {
  const dnnl_status_t status = dnnl_memory_set_data_handle(memory.get(), const_cast<void*>(data));
  if (status != dnnl_success) throw Error(ErrorCode::internal, "oneDNN could not bind a buffer");
}

dnnl::primitive_attr base_attr() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  // Whatever ONEDNN_DEFAULT_FPMATH_MODE says: the precision that was asked for is the precision that runs.
  attr.set_fpmath_mode(dnnl::fpmath_mode::strict);
  return attr;
}

Primitive::Primitive(Context& context, const dnnl::primitive_desc_base& pd, const dnnl::primitive& primitive)
    : context_(&context.impl()),
      primitive_(primitive),
      scratchpad_(unbound(pd.scratchpad_desc())),
      kernel_(pd.impl_info_str()) {
  context_->reserve(pd.scratchpad_desc().get_size());
}

void Primitive::execute(std::span<const dnnl_exec_arg_t> args) {
  std::array<dnnl_exec_arg_t, kMaxArgs> all;
  std::size_t count = 0;
  for (const dnnl_exec_arg_t& arg : args) all[count++] = arg;
  bind(scratchpad_, context_->scratchpad.data());
  all[count++] = {DNNL_ARG_SCRATCHPAD, scratchpad_.get()};
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), context_->stream.get(), static_cast<int>(count), all.data());
  if (status != dnnl_success) {
    throw Error(ErrorCode::internal,
                "oneDNN could not run " + kernel_ + ": status " + std::to_string(status));
  }
}

Primitive build_reorder(Context& context, const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
  const dnnl::reorder::primitive_desc pd(engine(), from, engine(), to, base_attr());
  return {context, pd, dnnl::reorder(pd)};
}

}  // namespace vit::backend
