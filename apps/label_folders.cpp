#include "apps/label_folders.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "apps/output_folder.hpp"

namespace vit::apps {
namespace {

std::string to_file_name(const std::string& label) {
  std::string name = label;
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '/' || byte < 0x20 || byte == 0x7F) c = '_';
  }
  if (name.empty() || name.front() == '.') name.insert(0, "_");  // hidden, or another folder
  return shortened_name(name);
}

}  // namespace

std::vector<std::string> label_folders(const io::Labels& labels) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < labels.size(); ++i) names.push_back(to_file_name(labels.name(i)));
  for (bool unique = false; !unique;) {
    unique = true;
    std::unordered_map<std::string, int> uses;
    for (const std::string& name : names) ++uses[name];
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (uses[names[i]] == 1) continue;
      names[i] += fmt::format(" ({})", i);
      unique = false;
    }
  }
  return names;
}

}  // namespace vit::apps
