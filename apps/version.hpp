// The text of --version.
#pragma once

#include <string>

namespace vit::apps {

/// "vitrine 0.1.0" and the versions of what it stands on.
std::string version_text();

}  // namespace vit::apps
