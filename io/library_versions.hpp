// What Vitrine's pictures, files and downloads stand on.
#pragma once

#include <string>
#include <vector>

namespace vit::io {

struct LibraryVersion {
  std::string name;  ///< e.g. "libpng"
  /// Of the library that is loaded where it can tell, else of the headers that were compiled: libjpeg-turbo,
  /// giflib, JSON.
  std::string version;
};

/// In the order in which `vitrine --version` prints them. Thread-safe.
std::vector<LibraryVersion> library_versions();

}  // namespace vit::io
