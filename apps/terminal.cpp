#include "apps/terminal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace vit::apps {
namespace {

int code_of(Style style) {
  switch (style) {
    case Style::bold:
      return 1;
    case Style::dim:
      return 2;
    case Style::green:
      return 32;
    case Style::red:
      return 31;
  }
  return 0;
}

}  // namespace

bool is_terminal(std::FILE* stream) {
  const char* const kind = std::getenv("TERM");
  return ::isatty(::fileno(stream)) == 1 && kind != nullptr && std::strcmp(kind, "dumb") != 0;
}

bool wants_colour(std::FILE* stream) {
  const char* const refused = std::getenv("NO_COLOR");
  return is_terminal(stream) && (refused == nullptr || *refused == '\0');
}

std::string styled(std::string_view text, Style style, bool coloured) {
  return coloured ? fmt::format("\033[{}m{}\033[0m", code_of(style), text) : std::string(text);
}

}  // namespace vit::apps
