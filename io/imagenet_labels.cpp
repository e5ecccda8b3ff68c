#include "io/imagenet_labels.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

namespace vit::io {

extern const std::string_view kImagenetTable;  // generated from data/labels/imagenet.tsv

namespace {

/// Cuts off what stands before the next `end`, which goes too.
std::string_view take_until(char end, std::string_view& text) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  do {
    fields.push_back(take_until('\t', line));
  } while (!line.empty());
  return fields;
}

}  // namespace

std::optional<std::map<std::int64_t, std::string>> imagenet_names(std::int64_t classes) {
  std::string_view table = kImagenetTable;
  const std::vector<std::string_view> heading = fields_of(take_until('\n', table));  // synset, name, sizes…
  const auto column = static_cast<std::size_t>(
      std::find(heading.begin(), heading.end(), std::to_string(classes)) - heading.begin());
  if (column >= heading.size()) return std::nullopt;
  std::map<std::int64_t, std::string> names;
  while (!table.empty()) {
    const std::vector<std::string_view> fields = fields_of(take_until('\n', table));
    if (fields.size() <= column || fields[column].empty()) continue;
    std::int64_t index = 0;
    std::from_chars(fields[column].data(), fields[column].data() + fields[column].size(), index);
    names.emplace(index, fields[1]);
  }
  return names;
}

}  // namespace vit::io
