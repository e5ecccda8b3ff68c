#include "io/glob.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "io/folder_listing.hpp"

namespace vit::io {
namespace fs = std::filesystem;
namespace {

constexpr const char* kAnyFolders = "**";

class Expansion {
 public:
  /// What the components from `at` on stand for, below `folder`.
  void expand(const fs::path& folder, fs::path::const_iterator at, const fs::path::const_iterator& end) {
    if (at == end) {
      found.push_back(folder.native());
      return;
    }
    const std::string& component = at->native();
    const bool last = std::next(at) == end;
    if (component == kAnyFolders) {
      if (!last) expand(folder, std::next(at), end);
      expand_below(folder, at, end, last);
    } else if (!is_glob(component)) {
      std::error_code ignored;  // what cannot be looked at does not match
      if (const fs::path path = folder / *at; fs::exists(fs::symlink_status(path, ignored)))
        expand(path, std::next(at), end);
    } else {
      for (const fs::directory_entry& entry : entries(folder)) {
        const std::string name = entry.path().filename().native();
        if (fnmatch(component.c_str(), name.c_str(), FNM_PERIOD) == 0)
          expand(folder / name, std::next(at), end);
      }
    }
  }

  std::vector<std::string> found;

 private:
  static std::vector<fs::directory_entry> entries(const fs::path& folder) {
    std::vector<fs::directory_entry> all;
    std::error_code error;
    fs::directory_iterator entry(folder.empty() ? "." : folder, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) all.push_back(*entry);
    return all;
  }

  void expand_below(const fs::path& folder, fs::path::const_iterator at, const fs::path::const_iterator& end,
                    bool last) {
    for (const fs::directory_entry& entry : entries(folder)) {
      const fs::path name = entry.path().filename();
      if (name.native().starts_with('.')) continue;
      std::error_code ignored;
      const bool is_folder = entry.is_directory(ignored);
      if (is_folder && !entry.is_symlink(ignored)) expand(folder / name, at, end);
      if (!is_folder && last) found.push_back((folder / name).native());
    }
  }
};

}  // namespace

bool is_glob(std::string_view name) {
  return name.find_first_of("*?[") != std::string_view::npos;
}

std::vector<std::string> expand_glob(const std::string& pattern) {
  const fs::path path(pattern);
  Expansion expansion;
  const fs::path relative = path.relative_path();
  expansion.expand(path.root_path(), relative.begin(), relative.end());
  std::sort(expansion.found.begin(), expansion.found.end(), natural_less);
  expansion.found.erase(std::unique(expansion.found.begin(), expansion.found.end()), expansion.found.end());
  return std::move(expansion.found);
}

}  // namespace vit::io
