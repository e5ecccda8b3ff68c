// What may be written to a terminal: colour, and lines that change.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace vit::apps {

/// Whether a person reads it on a terminal that understands control sequences.
bool is_terminal(std::FILE* stream);

/// The same, unless NO_COLOR (no-color.org) says otherwise.
bool wants_colour(std::FILE* stream);

enum class Style { bold, dim, green, red };

/// `text` in a style, where `coloured`; else as it is.
std::string styled(std::string_view text, Style style, bool coloured);

}  // namespace vit::apps
