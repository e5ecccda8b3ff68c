// What pickles of weights may name. The list of torch.load(weights_only=True) (_get_allowed_globals in
// torch/_weights_only_unpickler.py), as far as Vitrine can make something of it or can do without; and what
// training scripts put beside the weights, which nobody looks at.
#include <algorithm>
#include <array>
#include <string>

#include "io/pickle.hpp"

namespace vit::io {
namespace {

constexpr std::array<std::string_view, 118> kAllowed{
    // tensors
    "torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor_v3",
    "torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state",
    "torch.nn.parameter.Parameter", "torch._tensor._rebuild_from_type_v2", "torch.Tensor", "torch.Size",
    "torch.device", "torch.serialization._get_layout",
    // storages
    "torch.FloatStorage", "torch.HalfStorage", "torch.BFloat16Storage", "torch.DoubleStorage",
    "torch.LongStorage", "torch.IntStorage", "torch.ShortStorage", "torch.CharStorage", "torch.ByteStorage",
    "torch.BoolStorage", "torch.ComplexFloatStorage", "torch.ComplexDoubleStorage",
    "torch.storage.TypedStorage", "torch.storage.UntypedStorage", "torch.storage._TypedStorage",
    "torch.storage._UntypedStorage",
    // types
    "torch.float32", "torch.float", "torch.float16", "torch.half", "torch.bfloat16", "torch.float64",
    "torch.double", "torch.int64", "torch.long", "torch.int32", "torch.int", "torch.int16", "torch.short",
    "torch.int8", "torch.uint8", "torch.uint16", "torch.uint32", "torch.uint64", "torch.bool",
    "torch.complex64", "torch.complex128", "torch.float8_e4m3fn", "torch.float8_e5m2",
    "torch.float8_e4m3fnuz", "torch.float8_e5m2fnuz", "torch.float8_e8m0fnu",
    // containers
    "collections.OrderedDict", "collections.defaultdict", "collections.Counter", "collections.deque",
    "argparse.Namespace", "builtins.set", "builtins.frozenset", "builtins.bytearray", "builtins.bytes",
    "builtins.complex", "builtins.list", "builtins.dict", "builtins.tuple", "builtins.int", "builtins.float",
    "builtins.str", "builtins.bool", "builtins.object", "builtins.slice", "builtins.range", "_codecs.encode",
    // NumPy's scalars and arrays
    "numpy.dtype", "numpy.ndarray", "numpy.core.multiarray._reconstruct", "numpy.core.multiarray.scalar",
    "numpy.core.numeric._frombuffer", "numpy._core.multiarray._reconstruct", "numpy._core.multiarray.scalar",
    "numpy._core.numeric._frombuffer", "numpy.bool_", "numpy.int8", "numpy.int16", "numpy.int32",
    "numpy.int64", "numpy.uint8", "numpy.uint16", "numpy.uint32", "numpy.uint64", "numpy.float16",
    "numpy.float32", "numpy.float64", "numpy.dtypes.BoolDType", "numpy.dtypes.Int8DType",
    "numpy.dtypes.Int16DType", "numpy.dtypes.Int32DType", "numpy.dtypes.Int64DType",
    "numpy.dtypes.UInt8DType", "numpy.dtypes.UInt16DType", "numpy.dtypes.UInt32DType",
    "numpy.dtypes.UInt64DType", "numpy.dtypes.Float16DType", "numpy.dtypes.Float32DType",
    "numpy.dtypes.Float64DType", "numpy.dtypes.LongDType", "numpy.dtypes.ULongDType", "numpy.dtypes.StrDType",
    "numpy.dtypes.BytesDType"};

constexpr std::string_view kPython2Builtins = "__builtin__";
constexpr std::string_view kCuda = "torch.cuda";

}  // namespace

std::optional<std::string_view> allowed_global(std::string_view module, std::string_view name) {
  constexpr std::size_t kLongest = 64;
  if (module.size() > kLongest || name.size() > kLongest) return std::nullopt;
  if (module == kPython2Builtins) module = "builtins";
  if (module == kCuda && name.ends_with("Storage")) module = "torch";
  const std::string full = std::string(module) + '.' + std::string(name);
  const auto at = std::find(kAllowed.begin(), kAllowed.end(), full);
  if (at == kAllowed.end()) return std::nullopt;
  return *at;
}

}  // namespace vit::io
