// Patterns of file names: * ? [abc] and ** for any number of folders. Internal to io/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vit::io {

/// Whether a name holds a character that means something in a pattern.
bool is_glob(std::string_view name);

/// What a pattern stands for, in natural order: files and folders as a shell would list them, hidden ones
/// only where the pattern names the dot. `**` between slashes stands for any number of folders, and at the
/// end for every file below; links to folders are not followed by it. A folder that cannot be read holds
/// nothing.
std::vector<std::string> expand_glob(const std::string& pattern);

}  // namespace vit::io
