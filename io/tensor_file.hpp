// One file of named tensors, in any of the formats that weights come in. Internal.
//
// Which format it is, its bytes say, whatever it is called:
//   safetensors                    io/safetensors.hpp
//   PyTorch, torch.save            io/torch_file.hpp
//   NumPy .npz                     io/npz_file.hpp
#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/stored_tensor.hpp"
#include "vit/error.hpp"
#include "vit/file.hpp"

namespace vit::io {

/// A choice that was made inside of a file, for `info`: {"state dict", "state_dict_ema"}.
struct FileNote {
  std::string key;
  std::string value;
};

/// What a file holds. The tensors' data lie in the file's bytes, or in `owned`.
struct TensorFileContent {
  std::vector<StoredTensor> tensors;
  std::vector<FileNote> notes;
  std::deque<std::vector<std::byte>> owned;  ///< what was compressed, not contiguous or F64 in the file
};

/// Finds out what format the bytes have, and reads them. `name` appears in messages. Throws Error:
/// weights_invalid, or model_unsupported for formats that are known and not read (TorchScript, …), with what
/// to do about it. Nothing in a file is executed; memory is taken for what is there, not for what is claimed.
TensorFileContent parse_tensor_file(std::span<const std::byte> file, std::string_view name);

/// A file of tensors, mapped. Move-only; reading is thread-safe.
class TensorFile {
 public:
  /// Throws Error: as parse_tensor_file, or errors.not_found / errors.unreadable if it cannot be opened.
  TensorFile(const std::filesystem::path& path, FileErrors errors);

  const std::filesystem::path& path() const { return file_.path(); }
  const std::vector<StoredTensor>& tensors() const { return content_.tensors; }
  const std::vector<FileNote>& notes() const { return content_.notes; }
  /// nullptr if there is none of this name.
  const StoredTensor* find(std::string_view name) const;

  /// See MappedFile.
  void release_pages() const { file_.release_pages(); }
  /// Of a part, if it lies in this file.
  void release_pages(std::span<const std::byte> part) const { file_.release_pages(part); }

 private:
  MappedFile file_;
  TensorFileContent content_;
  std::map<std::string_view, const StoredTensor*> by_name_;
};

}  // namespace vit::io
