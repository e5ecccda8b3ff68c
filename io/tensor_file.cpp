#include "io/tensor_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "io/foreign_format.hpp"
#include "io/npz_file.hpp"
#include "io/quantisation.hpp"
#include "io/quote_name.hpp"
#include "io/safetensors.hpp"
#include "io/strided_tensor.hpp"
#include "io/torch_file.hpp"
#include "io/zip_archive.hpp"

namespace vit::io {
namespace {

/// Asked first: the length that a safetensors file begins with may be any other format's magic number.
bool looks_like_safetensors(std::span<const std::byte> file) {
  std::uint64_t length = 0;
  if (file.size() <= sizeof length) return false;
  std::memcpy(&length, file.data(), sizeof length);
  return length <= file.size() - sizeof length && file[sizeof length] == std::byte{'{'};
}

/// Where 8-bit weights come from.
std::vector<FileNote> quantisation_notes(const std::map<std::string, std::string>& metadata) {
  std::vector<FileNote> notes;
  for (const auto& [key, note] :
       {std::pair(kQuantisedFrom, "quantised from"), std::pair(kQuantisedBy, "quantised by")}) {
    if (const auto value = metadata.find(std::string(key)); value != metadata.end())
      notes.push_back({note, quote_name(value->second)});
  }
  return notes;
}

TensorFileContent read_safetensors(std::span<const std::byte> file, std::string_view name) {
  SafetensorsContent parsed = parse_safetensors(file, name, ErrorCode::weights_invalid);
  TensorFileContent content{std::move(parsed.tensors), quantisation_notes(parsed.metadata), {}};
  OwnedBytes memory(file.size(), name);
  for (StoredTensor& tensor : content.tensors) {
    if (tensor.dtype != "F64" || element_count(tensor.shape) == 0) continue;
    const StridedTensor wide{.name = tensor.name,
                             .type = element_type("F64"),
                             .shape = tensor.shape,
                             .strides = row_major_strides(tensor.shape).value(),
                             .storage = tensor.data};
    tensor = to_stored(wide, name, memory);
  }
  content.owned = memory.take();
  return content;
}

TensorFileContent read_zip(std::span<const std::byte> file, std::string_view name) {
  const ZipArchive archive(file, name);
  if (is_torch_archive(archive)) return read_torch_archive(archive);
  if (is_npz(archive)) return read_npz(archive);
  throw Error(ErrorCode::weights_invalid,
              fmt::format("{}: a zip archive that holds neither PyTorch's data.pkl nor NumPy arrays (.npy); "
                          "if the weights are inside, unpack them",
                          name));
}

}  // namespace

TensorFileContent parse_tensor_file(std::span<const std::byte> file, std::string_view name) {
  if (looks_like_safetensors(file)) return read_safetensors(file, name);
  if (as_text(file).starts_with("PK\3\4")) return read_zip(file, name);
  if (is_torch_legacy(file)) return read_torch_legacy(file, name);
  if (const auto other = recognise_other_weights(as_text(file))) {
    throw Error(ErrorCode::model_unsupported, fmt::format("{}: {}", name, *other));
  }
  if (name.ends_with(".safetensors") || file.empty() || recognise_foreign_format(as_text(file)))
    return read_safetensors(file, name);  // which says what is wrong
  throw Error(
      ErrorCode::weights_invalid,
      fmt::format("{}: no format of weights that Vitrine reads (safetensors, PyTorch's, NumPy's .npz), "
                  "or damaged: its first bytes are {}",
                  name, quote_name(as_text(file.first(std::min<std::size_t>(file.size(), 8))))));
}

TensorFile::TensorFile(const std::filesystem::path& path, FileErrors errors)
    : file_(path, errors), content_(parse_tensor_file(file_.bytes(), path.string())) {
  for (const StoredTensor& tensor : content_.tensors) by_name_.emplace(tensor.name, &tensor);
  if (!content_.owned.empty()) file_.release_pages();  // read once, to be copied
}

const StoredTensor* TensorFile::find(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : at->second;
}

}  // namespace vit::io
