#include "io/labels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "vit/error.hpp"

namespace vit::io {
namespace {

void check_index(std::int64_t index, std::int64_t size) {
  if (index < 0 || index >= size) {
    throw Error(ErrorCode::internal, fmt::format("class {} of {} classes", index, size));
  }
}

}  // namespace

Labels::Labels(std::int64_t size, const std::map<std::int64_t, std::string>& names)
    : names_(static_cast<std::size_t>(size)) {
  for (const auto& [index, name] : names) {
    check_index(index, size);
    names_[static_cast<std::size_t>(index)] = name;
  }
}

std::string Labels::name(std::int64_t index) const {
  check_index(index, size());
  return names_[static_cast<std::size_t>(index)].value_or(std::to_string(index));
}

bool Labels::has_name(std::int64_t index) const {
  check_index(index, size());
  return names_[static_cast<std::size_t>(index)].has_value();
}

std::int64_t Labels::named() const {
  return std::count_if(names_.begin(), names_.end(), [](const auto& name) { return name.has_value(); });
}

}  // namespace vit::io
