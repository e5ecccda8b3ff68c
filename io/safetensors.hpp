// The safetensors format: https://github.com/huggingface/safetensors
//
//   8 bytes            N, little-endian
//   N bytes            JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, …,
//                      "__metadata__": {"key": "text"}}, padded with spaces
//   the rest           the tensors' bytes, without gaps; offsets count from here
//
// The reader keeps every rule of the reference implementation (Metadata::validate in
// safetensors/src/tensor.rs): whatever it accepts, that accepts as well. One rule
// is stricter: no dimension is 2^63 or more, not even beside a 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/stored_tensor.hpp"
#include "vit/error.hpp"
#include "vit/file.hpp"
#include "vit/weights.hpp"

namespace vit::io {

/// What a header says, checked against the bytes behind it.
struct SafetensorsContent {
  std::vector<StoredTensor> tensors;  ///< by offset
  std::map<std::string, std::string> metadata;
};

/// Parses and validates a file's bytes. `name` appears in messages; every error carries `code`. Takes no more
/// memory than a small multiple of the header's real length. Other formats, Git LFS pointers, web pages and
/// truncated files are recognised and named.
SafetensorsContent parse_safetensors(std::span<const std::byte> file, std::string_view name, ErrorCode code);

/// A safetensors file, mapped: opening costs the header only. Move-only; reading is thread-safe.
class SafetensorsFile {
 public:
  /// Throws Error(code), or errors.not_found / errors.unreadable if it cannot be opened.
  SafetensorsFile(const std::filesystem::path& path, ErrorCode code, FileErrors errors);
  explicit SafetensorsFile(const std::filesystem::path& path, ErrorCode code = ErrorCode::weights_invalid)
      : SafetensorsFile(path, code, FileErrors::all(code)) {}

  const std::filesystem::path& path() const { return file_.path(); }
  const std::vector<StoredTensor>& tensors() const { return content_.tensors; }
  const std::map<std::string, std::string>& metadata() const { return content_.metadata; }
  /// nullptr if there is none of this name.
  const StoredTensor* find(std::string_view name) const;

  /// One tensor as f32 (from F32, F16 or BF16). Throws Error with the constructor's code, naming the file and
  /// the tensor: there is none of this name (and what there is), or its type is another.
  Tensor read(std::string_view name) const;

  /// See MappedFile.
  void release_pages() const { file_.release_pages(); }

 private:
  MappedFile file_;
  ErrorCode code_;
  SafetensorsContent content_;
  std::map<std::string_view, const StoredTensor*> by_name_;
};

}  // namespace vit::io
