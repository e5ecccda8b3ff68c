// Names out of files, as messages show them. Internal.
#pragma once

#include <string>
#include <string_view>

namespace vit::io {

/// In quotes, on one line, not longer than a name should be; what is no printable text as \xNN.
std::string quote_name(std::string_view name);

}  // namespace vit::io
