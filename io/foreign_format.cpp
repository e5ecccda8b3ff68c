#include "io/foreign_format.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace vit::io {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view prefix;
  std::string_view meaning;
};

constexpr std::string_view kConvert =
    "; convert it in Python: model.save_pretrained(FOLDER, safe_serialization=True)";

constexpr std::array kMagics{
    Magic{"PK\3\4"sv, "this is a zip archive, probably a PyTorch checkpoint (.bin, .pt, .pth)"},
    Magic{"\x80\2"sv, "this is a Python pickle, probably an old PyTorch checkpoint (.bin, .pt, .pth)"},
    Magic{"GGUF"sv, "this is a GGUF file"},
    Magic{"\x89HDF\r\n\x1a\n"sv, "this is an HDF5 file, probably TensorFlow or Keras weights (.h5)"},
    Magic{"\x93NUMPY"sv, "this is a NumPy array (.npy)"},
};

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
  for (const Magic& magic : kMagics) {
    if (bytes.starts_with(magic.prefix)) {
      return std::string("not a safetensors file: ") + std::string(magic.meaning) + std::string(kConvert);
    }
  }
  return std::nullopt;
}

}  // namespace vit::io
