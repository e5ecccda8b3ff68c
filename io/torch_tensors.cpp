#include "io/torch_tensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "io/model_metadata.hpp"
#include "io/quote_name.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

struct TypeRow {
  std::string_view torch;
  std::string_view name;
};

constexpr std::array<TypeRow, 16> kStorages{{{"torch.FloatStorage", "F32"},
                                             {"torch.HalfStorage", "F16"},
                                             {"torch.BFloat16Storage", "BF16"},
                                             {"torch.DoubleStorage", "F64"},
                                             {"torch.LongStorage", "I64"},
                                             {"torch.IntStorage", "I32"},
                                             {"torch.ShortStorage", "I16"},
                                             {"torch.CharStorage", "I8"},
                                             {"torch.ByteStorage", "U8"},
                                             {"torch.BoolStorage", "BOOL"},
                                             {"torch.ComplexFloatStorage", "C64"},
                                             {"torch.ComplexDoubleStorage", "C128"},
                                             {"torch.storage.UntypedStorage", "U8"},
                                             {"torch.storage._UntypedStorage", "U8"},
                                             {"torch.storage.TypedStorage", "U8"},
                                             {"torch.storage._TypedStorage", "U8"}}};

/// Types that have no storage of their own: _rebuild_tensor_v3 names them beside bytes.
constexpr std::array<TypeRow, 24> kTypes{{{"torch.float32", "F32"},
                                          {"torch.float", "F32"},
                                          {"torch.float16", "F16"},
                                          {"torch.half", "F16"},
                                          {"torch.bfloat16", "BF16"},
                                          {"torch.float64", "F64"},
                                          {"torch.double", "F64"},
                                          {"torch.int64", "I64"},
                                          {"torch.long", "I64"},
                                          {"torch.int32", "I32"},
                                          {"torch.int", "I32"},
                                          {"torch.int16", "I16"},
                                          {"torch.short", "I16"},
                                          {"torch.int8", "I8"},
                                          {"torch.uint8", "U8"},
                                          {"torch.uint16", "U16"},
                                          {"torch.uint32", "U32"},
                                          {"torch.uint64", "U64"},
                                          {"torch.bool", "BOOL"},
                                          {"torch.float8_e4m3fn", "F8_E4M3"},
                                          {"torch.float8_e5m2", "F8_E5M2"},
                                          {"torch.float8_e4m3fnuz", "F8_E4M3FNUZ"},
                                          {"torch.float8_e5m2fnuz", "F8_E5M2FNUZ"},
                                          {"torch.float8_e8m0fnu", "F8_E8M0"}}};

/// Where the weights lie beside other things, the best first: those that timm's loader takes (load_state_dict
/// in timm/models/_helpers.py), then DeepSpeed's and DINO's.
constexpr std::array<std::string_view, 7> kStateDicts{"state_dict_ema", "model_ema", "state_dict", "model",
                                                      "module",         "teacher",   "student"};

template <std::size_t N>
std::optional<ElementType> find_type(const std::array<TypeRow, N>& rows, const PickleValue& global) {
  if (global.kind != PickleKind::global) return std::nullopt;
  for (const TypeRow& row : rows) {
    if (row.torch == global.text) return element_type(row.name);
  }
  return std::nullopt;
}

/// A tensor's call, behind the wrappers that a parameter or attributes put around it.
struct Rebuild {
  std::span<const PickleId> arguments;  ///< storage, offset, size, stride, …
  bool names_type = false;              ///< _rebuild_tensor_v3: the type is the 7th
};

std::optional<Rebuild> find_rebuild(const Pickle& pickle, PickleId id) {
  constexpr int kWrappers = 4;
  for (int i = 0; i < kWrappers; ++i) {
    const PickleValue& value = pickle[id];
    if (value.kind != PickleKind::call) return std::nullopt;
    std::string_view function = pickle[value.callable].text;
    std::span<const PickleId> arguments = pickle[value.arguments].items;
    if (function == "torch._tensor._rebuild_from_type_v2" && arguments.size() == 4 &&
        pickle[arguments[2]].kind == PickleKind::tuple) {
      function = pickle[arguments[0]].text;
      arguments = pickle[arguments[2]].items;
    }
    if (function == "torch._utils._rebuild_parameter" ||
        function == "torch._utils._rebuild_parameter_with_state") {
      if (arguments.empty()) return std::nullopt;
      id = arguments.front();
      continue;
    }
    const bool v3 = function == "torch._utils._rebuild_tensor_v3";
    if (v3 || function == "torch._utils._rebuild_tensor_v2" || function == "torch._utils._rebuild_tensor")
      return Rebuild{arguments, v3};
    return std::nullopt;
  }
  return std::nullopt;
}

class Reader {
 public:
  Reader(const Pickle& pickle, const FindTorchStorage& find_storage, std::string_view file_name,
         OwnedBytes& memory)
      : pickle_(pickle), find_storage_(find_storage), file_name_(file_name), memory_(memory) {}

  TensorFileContent read() {
    const PickleId dict = choose();
    std::map<std::string_view, PickleId> tensors;  // a key's last value counts, as in Python
    constexpr std::size_t kShown = 10;
    std::vector<std::string> others;
    std::size_t other_count = 0;
    pickle_.for_each_pair(dict, [&](PickleId key, PickleId value) {
      const PickleValue& name = pickle_[key];
      if (name.kind == PickleKind::text && is_utf8(name.text) && find_rebuild(pickle_, value)) {
        tensors.insert_or_assign(name.text, value);
      } else if (++other_count <= kShown) {
        others.push_back(name.kind == PickleKind::text ? quote_name(name.text) : "(no text)");
      }
    });
    for (const auto& [name, id] : tensors) {
      content_.tensors.push_back(to_stored(tensor(name, *find_rebuild(pickle_, id)), file_name_, memory_));
    }
    if (!others.empty()) {
      content_.notes.push_back(
          {"entries of the state dict that are no tensors",
           fmt::format("{}{}", fmt::join(others, ", "), other_count > kShown ? ", …" : "")});
    }
    return std::move(content_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(ErrorCode::weights_invalid, fmt::format("{}: {}", file_name_, what));
  }

  [[noreturn]] void fail_tensor(std::string_view name, std::string_view what) const {
    fail(fmt::format("tensor {}: {}", quote_name(name), what));
  }

  bool has_tensors(PickleId dict) const {
    bool found = false;
    pickle_.for_each_pair(
        dict, [&](PickleId, PickleId value) { found = found || find_rebuild(pickle_, value).has_value(); });
    return found;
  }

  PickleId choose() {
    const PickleId root = pickle_.root;
    if (!pickle_.is_dict(root)) {
      fail(
          fmt::format("the object in it is no dict of tensors{}; write one in Python: "
                      "torch.save(model.state_dict(), FILE)",
                      find_rebuild(pickle_, root) ? " but a single tensor" : ""));
    }
    std::vector<std::string_view> candidates;
    for (const std::string_view key : kStateDicts) {
      const auto value = pickle_.find(root, key);
      if (value && has_tensors(*value)) candidates.push_back(key);
    }
    if (candidates.empty()) {
      if (!has_tensors(root)) fail("no tensors in it" + found_instead(root));
      return root;
    }
    content_.notes.push_back({"state dict", std::string(candidates.front())});
    if (candidates.size() > 1) {
      content_.notes.push_back(
          {"state dicts not used",
           fmt::format("{}", fmt::join(candidates.begin() + 1, candidates.end(), ", "))});
    }
    return *pickle_.find(root, candidates.front());
  }

  std::string found_instead(PickleId dict) const {
    constexpr std::size_t kShown = 10;
    std::vector<std::string> keys;
    pickle_.for_each_pair(dict, [&](PickleId key, PickleId) {
      if (pickle_[key].kind == PickleKind::text && keys.size() < kShown)
        keys.push_back(quote_name(pickle_[key].text));
    });
    if (keys.empty()) return "";
    return fmt::format(", found {}; expected a state dict, alone or under one of {}", fmt::join(keys, ", "),
                       fmt::join(kStateDicts, ", "));
  }

  Shape shape_of(std::string_view name, PickleId id, std::string_view what) const {
    const auto items = pickle_.sequence(id);
    constexpr std::size_t kMaxAxes = 64;  // torch's limit
    if (!items || items->size() > kMaxAxes)
      fail_tensor(name, fmt::format("its {} is no tuple of at most {} numbers", what, kMaxAxes));
    Shape shape;
    for (const PickleId item : *items) {
      const auto value = pickle_.integer(item);
      if (!value) fail_tensor(name, fmt::format("its {} is not of whole numbers", what));
      shape.push_back(*value);
    }
    return shape;
  }

  StridedTensor tensor(std::string_view name, const Rebuild& rebuild) {
    const auto& arguments = rebuild.arguments;
    if (arguments.size() < (rebuild.names_type ? 7U : 4U)) fail_tensor(name, "arguments are missing");
    if (pickle_[arguments[0]].kind != PickleKind::persistent) fail_tensor(name, "it has no storage");
    const TorchStorage storage = read_torch_storage(pickle_, arguments[0], file_name_);
    StridedTensor result;
    result.name = name;
    result.type = storage.type;
    if (rebuild.names_type) {
      const auto type = find_type(kTypes, pickle_[arguments[6]]);
      if (!type) fail_tensor(name, "its type is unknown");
      result.type = *type;
    }
    const auto offset = pickle_.integer(arguments[1]);
    if (!offset) fail_tensor(name, "its offset is no whole number");
    result.offset = *offset;
    result.shape = shape_of(name, arguments[2], "shape");
    result.strides = shape_of(name, arguments[3], "stride");
    if (storage.view_bytes > 0) {
      result.storage = find_storage_(storage).subspan(static_cast<std::size_t>(storage.view_begin),
                                                      static_cast<std::size_t>(storage.view_bytes));
    }
    return result;
  }

  const Pickle& pickle_;
  const FindTorchStorage& find_storage_;
  std::string_view file_name_;
  OwnedBytes& memory_;
  TensorFileContent content_;
};

}  // namespace

TorchStorage read_torch_storage(const Pickle& pickle, PickleId persistent, std::string_view file_name) {
  const auto fail = [&](std::string_view what) {
    throw Error(ErrorCode::weights_invalid, fmt::format("{}: a storage of its tensors: {}", file_name, what));
  };
  const auto parts = pickle.sequence(pickle[persistent].items.front());
  if (!parts || parts->size() < 5 || pickle[(*parts)[0]].text != "storage")
    fail("expected (\"storage\", type, key, device, elements)");
  const auto& id = *parts;
  const auto type = find_type(kStorages, pickle[id[1]]);
  if (!type) fail(fmt::format("its type {} is unknown", quote_name(pickle[id[1]].text)));
  if (pickle[id[2]].kind != PickleKind::text) fail("its key is no text");
  const auto elements = pickle.integer(id[4]);

  TorchStorage storage{*type, pickle[id[2]].text, 0, 0, 0};
  const auto bytes_of = [&](std::optional<std::int64_t> count, std::uint64_t& bytes) {
    return count && *count >= 0 &&
           !__builtin_mul_overflow(static_cast<std::uint64_t>(*count), storage.type.size, &bytes);
  };
  if (!bytes_of(elements, storage.bytes)) fail("its number of elements makes no sense");
  storage.view_bytes = storage.bytes;
  if (id.size() > 5 && pickle[id[5]].kind != PickleKind::none) {  // (key of the view, offset, elements)
    const auto view = pickle.sequence(id[5]);
    if (!view || view->size() != 3 || !bytes_of(pickle.integer((*view)[1]), storage.view_begin) ||
        !bytes_of(pickle.integer((*view)[2]), storage.view_bytes) || storage.view_begin > storage.bytes ||
        storage.view_bytes > storage.bytes - storage.view_begin) {
      fail("its view does not lie within it");
    }
  }
  return storage;
}

TensorFileContent read_state_dict(const Pickle& pickle, const FindTorchStorage& find_storage,
                                  std::string_view file_name, OwnedBytes& memory) {
  return Reader(pickle, find_storage, file_name, memory).read();
}

}  // namespace vit::io
