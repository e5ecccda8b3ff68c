#include "io/stored_tensor.hpp"

#include <algorithm>
#include <array>

namespace vit::io {
namespace {

constexpr std::array<StoredDType, 22> kDTypes{{{"F32", 32, DType::f32},
                                               {"F16", 16, DType::f16},
                                               {"BF16", 16, DType::bf16},
                                               {"F64", 64},
                                               {"I64", 64},
                                               {"U64", 64},
                                               {"C64", 64},
                                               {"I32", 32},
                                               {"U32", 32},
                                               {"I16", 16},
                                               {"U16", 16},
                                               {"I8", 8},
                                               {"U8", 8},
                                               {"BOOL", 8},
                                               {"F8_E4M3", 8},
                                               {"F8_E5M2", 8},
                                               {"F8_E8M0", 8},
                                               {"F8_E4M3FNUZ", 8},
                                               {"F8_E5M2FNUZ", 8},
                                               {"F6_E2M3", 6},
                                               {"F6_E3M2", 6},
                                               {"F4", 4}}};

}  // namespace

const StoredDType* find_stored_dtype(std::string_view name) {
  const auto at =
      std::find_if(kDTypes.begin(), kDTypes.end(), [&](const StoredDType& d) { return d.name == name; });
  return at == kDTypes.end() ? nullptr : &*at;
}

}  // namespace vit::io
