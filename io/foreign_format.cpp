#include "io/foreign_format.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

namespace vit::io {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view prefix;
  std::string_view meaning;
};

constexpr std::string_view kConvert =
    "; convert it in Python: model.save_pretrained(FOLDER, safe_serialization=True)";
constexpr std::string_view kSaveAgain = "; save it again in Python: torch.save(torch.load(FILE), NEW_FILE)";

/// Formats of weights that Vitrine reads, and not here.
constexpr std::array kWeights{
    Magic{"PK\3\4"sv, "this is a zip archive, as PyTorch (.bin, .pt, .pth) and NumPy (.npz) write"},
    Magic{"\x80\2"sv, "this is a Python pickle, probably an old PyTorch checkpoint (.bin, .pt, .pth)"},
};

/// Those that it does not read.
constexpr std::array kOthers{
    Magic{"GGUF"sv, "this is a GGUF file"},
    Magic{"\x89HDF\r\n\x1a\n"sv, "this is an HDF5 file, probably TensorFlow or Keras weights (.h5)"},
    Magic{"\x93NUMPY"sv, "this is a NumPy array (.npy)"},
};

const Magic* find_magic(std::span<const Magic> magics, std::string_view bytes) {
  const auto at = std::find_if(magics.begin(), magics.end(),
                               [&](const Magic& magic) { return bytes.starts_with(magic.prefix); });
  return at == magics.end() ? nullptr : &*at;
}

/// POSIX and GNU tar: "ustar" in the header of the first member.
bool is_tar(std::string_view bytes) {
  constexpr std::size_t kMagicAt = 257;
  return bytes.size() > kMagicAt && bytes.substr(kMagicAt).starts_with("ustar");
}

bool is_pickle(std::string_view bytes) {
  return bytes.size() > 1 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

bool is_html(std::string_view bytes) {
  constexpr std::size_t kLooked = 256;
  std::string head(bytes.substr(0, kLooked));
  std::transform(head.begin(), head.end(), head.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto first = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string::npos || head[first] != '<') return false;
  return head.find("<html") != std::string::npos || head.find("<!doctype") != std::string::npos ||
         head.find("<head") != std::string::npos || head.find("<?xml") != std::string::npos;
}

}  // namespace

std::optional<std::string> recognise_foreign_format(std::string_view bytes) {
  if (bytes.starts_with("version https://git-lfs.github.com/spec/")) {
    return "this is a Git LFS pointer, not the weights; run `git lfs pull` in the folder, or download the "
           "file again";
  }
  if (is_html(bytes)) {
    return "this is a web page (HTML), not the weights: a login page, or an address that shows the file "
           "instead of sending it; log in, or use the address of the file itself, and download it again";
  }
  if (const Magic* weights = find_magic(kWeights, bytes))
    return std::string("not a safetensors file: ") + std::string(weights->meaning);
  if (const Magic* other = find_magic(kOthers, bytes)) {
    return std::string("not a safetensors file: ") + std::string(other->meaning) + std::string(kConvert);
  }
  return std::nullopt;
}

std::optional<std::string> recognise_other_weights(std::string_view bytes) {
  if (const Magic* other = find_magic(kOthers, bytes))
    return std::string(other->meaning) + ", which Vitrine does not read" + std::string(kConvert);
  if (is_tar(bytes)) {
    return "this is a tar archive, perhaps a PyTorch checkpoint of the oldest format, which Vitrine does not "
           "read" +
           std::string(kSaveAgain);
  }
  if (is_pickle(bytes)) {
    return "this is a Python pickle, but none that torch.save wrote" + std::string(kSaveAgain);
  }
  return std::nullopt;
}

}  // namespace vit::io
