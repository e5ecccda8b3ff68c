#include "io/quote_name.hpp"

#include <fmt/format.h>

#include "io/model_metadata.hpp"

namespace vit::io {

std::string quote_name(std::string_view name) {
  constexpr std::size_t kShown = 120;
  const bool utf8 = is_utf8(name);
  std::string text = "\"";
  for (const char c : name.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && (!utf8 || name.size() > kShown))) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += c;
    }
  }
  return text + (name.size() > kShown ? "…\"" : "\"");
}

}  // namespace vit::io
