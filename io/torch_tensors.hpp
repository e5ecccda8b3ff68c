// The object that torch.save wrote -> the tensors of a network. Internal.
//
// A tensor is a call of torch._utils._rebuild_tensor_v2(storage, offset, size, stride, …), its storage the
// persistent id ("storage", torch.FloatStorage, key, device, elements); see torch/_utils.py and
// persistent_load in torch/serialization.py. Many tensors may share a storage.
//
// The tensors are a dict (a state dict), or lie with the optimiser's state, the epoch and so on in another;
// which one is taken is said in the notes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/owned_bytes.hpp"
#include "io/pickle.hpp"
#include "io/strided_tensor.hpp"
#include "io/tensor_file.hpp"

namespace vit::io {

/// What a persistent id says of a storage. Texts point into the pickle.
struct TorchStorage {
  ElementType type;
  std::string_view key;
  std::uint64_t bytes = 0;
  /// The part of it that is meant (only of the format before torch 1.6).
  std::uint64_t view_begin = 0;
  std::uint64_t view_bytes = 0;
};

/// Throws Error(weights_invalid): another thing than a storage, a type that does not exist, sizes that
/// overflow or do not fit each other.
TorchStorage read_torch_storage(const Pickle& pickle, PickleId persistent, std::string_view file_name);

/// The bytes of a storage: at least storage.bytes of them. Throws Error(weights_invalid).
using FindTorchStorage = std::function<std::span<const std::byte>(const TorchStorage& storage)>;

/// The tensors of the state dict. Throws Error(weights_invalid): there is none, or one that is damaged.
TensorFileContent read_state_dict(const Pickle& pickle, const FindTorchStorage& find_storage,
                                  std::string_view file_name, OwnedBytes& memory);

}  // namespace vit::io
