// Any bytes are either a file of tensors, whatever its format, all of which can be read, or an Error that
// does not blame Vitrine: never anything else.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "io/tensor_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    const auto content = vit::io::parse_tensor_file(bytes, "fuzz");
    std::size_t owned = 0;
    for (const auto& block : content.owned) owned += block.size();
    if (owned > 64 * size + (std::size_t{16} << 20)) std::abort();
    std::size_t total = 0;
    for (const auto& tensor : content.tensors) {
      for (const std::byte b : tensor.data) total += static_cast<std::size_t>(b);  // all of it ours to read
      if (!tensor.float_dtype) continue;
      const auto elements = static_cast<std::size_t>(vit::element_count(tensor.shape));
      if (tensor.data.size() != elements * static_cast<std::size_t>(vit::size_of(*tensor.float_dtype)))
        std::abort();
    }
    volatile std::size_t keep = total;
    static_cast<void>(keep);
  } catch (const vit::Error& error) {
    if (error.code() == vit::ErrorCode::internal) std::abort();
  }
  return 0;
}
