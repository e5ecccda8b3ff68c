#include "vit/cpu_quota.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <string>
#include <string_view>

namespace vit {
namespace {

namespace fs = std::filesystem;

/// 0 for what is no positive number: "max", "-1", nothing.
double read_number(std::ifstream& file) {
  std::string word;
  file >> word;
  double number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return std::max(number, 0.0);
}

/// Cores of one group, not rounded; 0: no limit.
double quota_of(const fs::path& group) {
  double quota = 0;
  double period = 0;
  if (std::ifstream both(group / "cpu.max"); both) {  // v2
    quota = read_number(both);
    period = read_number(both);
  } else {  // v1
    std::ifstream quota_file(group / "cpu.cfs_quota_us");
    std::ifstream period_file(group / "cpu.cfs_period_us");
    quota = read_number(quota_file);
    period = read_number(period_file);
  }
  return period > 0 ? quota / period : 0;
}

double least(double a, double b) {
  return a == 0 ? b : b == 0 ? a : std::min(a, b);
}

/// Of a group and of all above it: "/a/b", "/a", "/".
double quota_along(const fs::path& mount, fs::path group) {
  double quota = quota_of(mount);
  for (; group.has_relative_path(); group = group.parent_path())
    quota = least(quota, quota_of(mount / group.relative_path()));
  return quota;
}

bool lists(std::string_view controllers, std::string_view wanted) {
  while (!controllers.empty()) {
    const std::size_t end = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, end) == wanted) return true;
    controllers.remove_prefix(std::min(end + 1, controllers.size()));
  }
  return false;
}

}  // namespace

int cpu_quota(const fs::path& memberships, const fs::path& mount) {
  double quota = least(quota_of(mount), quota_of(mount / "cpu"));
  std::ifstream file(memberships);
  for (std::string line; std::getline(file, line);) {  // "hierarchy:controllers:/group", in v2 "0::/group"
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    if (controllers.empty()) quota = least(quota, quota_along(mount, group));
    if (lists(controllers, "cpu")) quota = least(quota, quota_along(mount / "cpu", group));
  }
  return static_cast<int>(std::ceil(quota));
}

}  // namespace vit
