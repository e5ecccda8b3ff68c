#include "io/torch_file.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "io/owned_bytes.hpp"
#include "io/pickle.hpp"
#include "io/quote_name.hpp"
#include "io/torch_tensors.hpp"
#include "vit/error.hpp"
#include "vit/file.hpp"

namespace vit::io {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kPickle = "data.pkl";
constexpr std::string_view kMagicBytes = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv;
constexpr std::string_view kMagicDigits = "119547037146038801333356";
constexpr std::int64_t kProtocol = 1001;

[[noreturn]] void fail_big_endian(std::string_view name) {
  throw Error(
      ErrorCode::model_unsupported,
      fmt::format("{}: written on a big-endian machine, which Vitrine does not read; there, in Python, "
                  "save it as safetensors",
                  name));
}

/// The folder of data.pkl with its '/'; nothing where there is no data.pkl, or several.
std::optional<std::string> folder_of(const ZipArchive& archive) {
  std::optional<std::string> folder;
  for (const auto& [entry, at] : archive.entries()) {
    const std::size_t slash = entry.find('/');
    const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
    if (std::string_view(entry).substr(begin) != kPickle) continue;
    if (folder) return std::nullopt;
    folder = entry.substr(0, begin);
  }
  return folder;
}

void refuse_torchscript(const ZipArchive& archive, const std::string& folder) {
  const auto code = archive.entries().lower_bound(folder + "code/");
  const bool has_code = code != archive.entries().end() && code->first.starts_with(folder + "code/");
  if (!has_code && !archive.entries().contains(folder + "constants.pkl")) return;
  throw Error(ErrorCode::model_unsupported,
              fmt::format("{}: this is a TorchScript program, not weights; take them out in Python: "
                          "torch.save(torch.jit.load(FILE).state_dict(), NEW_FILE)",
                          archive.name()));
}

void check_byte_order(const ZipArchive& archive, const std::string& folder, OwnedBytes& memory) {
  const std::string entry = folder + "byteorder";
  if (!archive.entries().contains(entry)) return;
  const std::string_view order = as_text(archive.read(entry, memory));
  if (order == "big") fail_big_endian(archive.name());
  if (order != "little") archive.fail(entry, fmt::format("expected \"little\", found {}", quote_name(order)));
}

/// What follows the five pickles.
class LegacyStorages {
 public:
  LegacyStorages(std::span<const std::byte> file, std::string_view name) : file_(file), name_(name) {}

  void read(const Pickle& object, const Pickle& keys) {
    const std::map<std::string_view, std::size_t> sizes = element_sizes(object);
    const auto listed = keys.sequence(keys.root);
    if (!listed) fail("its list of storages is no list");
    std::size_t at = keys.end;
    for (const PickleId id : *listed) {
      const std::string_view key = keys[id].text;
      const auto size = sizes.find(key);
      if (size == sizes.end()) fail(fmt::format("storage {} belongs to no tensor", quote_name(key)));
      std::uint64_t bytes = 0;
      if (file_.size() - at < sizeof bytes) fail_truncated(key);
      std::memcpy(&bytes, file_.data() + at, sizeof bytes);
      at += sizeof bytes;
      if (__builtin_mul_overflow(bytes, size->second, &bytes) || bytes > file_.size() - at)
        fail_truncated(key);
      if (!storages_.emplace(key, file_.subspan(at, static_cast<std::size_t>(bytes))).second)
        fail(fmt::format("storage {} is there twice", quote_name(key)));
      at += static_cast<std::size_t>(bytes);
    }
    if (at != file_.size()) fail(fmt::format("{} bytes follow its last storage", file_.size() - at));
  }

  std::span<const std::byte> find(const TorchStorage& storage) const {
    const auto at = storages_.find(storage.key);
    if (at == storages_.end()) fail(fmt::format("storage {} is not there", quote_name(storage.key)));
    if (at->second.size() < storage.bytes) {
      fail(fmt::format("storage {} has {} bytes, expected {}", quote_name(storage.key), at->second.size(),
                       storage.bytes));
    }
    return at->second;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(ErrorCode::weights_invalid, fmt::format("{}: {}", name_, what));
  }

  [[noreturn]] void fail_truncated(std::string_view key) const {
    fail(
        fmt::format("truncated within storage {}: the file has {} bytes; the download or copy went wrong: "
                    "fetch the file again",
                    quote_name(key), file_.size()));
  }

  /// Bytes of an element of each storage that the object's tensors have.
  std::map<std::string_view, std::size_t> element_sizes(const Pickle& object) const {
    std::map<std::string_view, std::size_t> sizes;
    for (std::size_t id = 0; id < object.values.size(); ++id) {
      if (object.values[id].kind != PickleKind::persistent) continue;
      const TorchStorage storage = read_torch_storage(object, static_cast<PickleId>(id), name_);
      if (sizes.emplace(storage.key, storage.type.size).first->second != storage.type.size)
        fail(fmt::format("storage {} has two types", quote_name(storage.key)));
    }
    return sizes;
  }

  std::span<const std::byte> file_;
  std::string_view name_;
  std::map<std::string_view, std::span<const std::byte>> storages_;
};

}  // namespace

bool is_torch_archive(const ZipArchive& archive) {
  return folder_of(archive).has_value();
}

TensorFileContent read_torch_archive(const ZipArchive& archive) {
  const std::string folder = folder_of(archive).value_or("");
  refuse_torchscript(archive, folder);
  OwnedBytes memory(archive.file().size(), archive.name());
  check_byte_order(archive, folder, memory);

  const std::string entry = folder + std::string(kPickle);
  const Pickle pickle =
      unpickle(archive.read(entry, memory), 0, fmt::format("{}: {}", archive.name(), entry));
  std::map<std::string, std::span<const std::byte>, std::less<>> read;  // a compressed one once
  const FindTorchStorage find = [&](const TorchStorage& storage) {
    auto at = read.find(storage.key);
    const std::string file = fmt::format("{}data/{}", folder, storage.key);
    if (at == read.end()) at = read.emplace(storage.key, archive.read(file, memory)).first;
    if (at->second.size() < storage.bytes)
      archive.fail(file, fmt::format("{} bytes, expected {}", at->second.size(), storage.bytes));
    return at->second;
  };
  TensorFileContent content = read_state_dict(pickle, find, archive.name(), memory);
  content.owned = memory.take();
  return content;
}

bool is_torch_legacy(std::span<const std::byte> file) {
  const std::string_view text = as_text(file);
  if (text.starts_with('L')) return text.substr(1).starts_with(kMagicDigits);  // protocols 0 and 1
  return text.starts_with('\x80') && text.size() > 2 && text.substr(2).starts_with("\x8a\x0a"sv) &&
         text.substr(4).starts_with(kMagicBytes);
}

TensorFileContent read_torch_legacy(std::span<const std::byte> file, std::string_view name) {
  const auto fail = [&](std::string_view what) {
    throw Error(ErrorCode::weights_invalid, fmt::format("{}: {}", name, what));
  };
  const Pickle magic = unpickle(file, 0, name);
  if (magic[magic.root].text != kMagicBytes && magic[magic.root].text != kMagicDigits)
    fail("another magic number than torch.save's");
  const Pickle protocol = unpickle(file, magic.end, name);
  if (protocol.integer(protocol.root) != kProtocol) fail(fmt::format("another protocol than {}", kProtocol));
  const Pickle machine = unpickle(file, protocol.end, name);
  const auto little = machine.find(machine.root, "little_endian");
  if (little && machine[*little].kind == PickleKind::boolean && machine[*little].integer == 0)
    fail_big_endian(name);
  const Pickle object = unpickle(file, machine.end, name);
  const Pickle keys = unpickle(file, object.end, name);
  LegacyStorages storages(file, name);
  storages.read(object, keys);

  OwnedBytes memory(file.size(), name);
  TensorFileContent content = read_state_dict(
      object, [&](const TorchStorage& storage) { return storages.find(storage); }, name, memory);
  content.owned = memory.take();
  return content;
}

}  // namespace vit::io
