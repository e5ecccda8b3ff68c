#include "io/named_architecture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "io/family.hpp"
#include "io/timm_architectures.hpp"
#include "io/timm_common.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

/// Levenshtein's: insertions, deletions and replacements between two names.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

[[noreturn]] void fail_unknown(std::string_view name) {
  constexpr std::size_t kShown = 3;
  constexpr std::size_t kLongest = 200;  // of what may be a mistyped path
  std::vector<std::string_view> names;
  for (const Family* family : families()) {
    for (const NamedArchitecture& row : family->architectures) names.push_back(row.name);
  }
  for (const TimmArchitecture& row : timm_architectures()) names.push_back(row.name);
  const std::string_view plain = name.substr(0, std::min(name.find('.'), kLongest));
  std::partial_sort(names.begin(), names.begin() + kShown, names.end(),
                    [&](std::string_view a, std::string_view b) {
                      return edit_distance(plain, a) < edit_distance(plain, b);
                    });
  throw Error(
      ErrorCode::model_unsupported,
      fmt::format("--arch {}: no such architecture; near it: {}; there are the {} names of timm 1.0.31's "
                  "vision_transformer, deit, beit and eva, and those of torchvision, DINOv2 and DINOv3",
                  name, fmt::join(names.begin(), names.begin() + kShown, ", "), timm_architectures().size()));
}

const TimmPretrained& find_weights(std::string_view name, std::string_view tag) {
  const auto all = timm_pretrained();
  const auto [first, last] = std::equal_range(
      all.begin(), all.end(), TimmPretrained{name, "", ""},
      [](const TimmPretrained& a, const TimmPretrained& b) { return a.architecture < b.architecture; });
  if (tag.empty() && first != last) return *first;
  const auto row = std::find_if(first, last, [&](const TimmPretrained& r) { return r.tag == tag; });
  if (row != last) return *row;
  std::vector<std::string_view> tags;
  for (auto at = first; at != last; ++at) {
    if (!at->tag.empty()) tags.push_back(at->tag);
  }
  throw Error(ErrorCode::model_unsupported,
              fmt::format("--arch {}.{}: timm 1.0.31 has no such weights of {}; it has: {}", name, tag, name,
                          tags.empty() ? "none with a tag" : fmt::format("{}", fmt::join(tags, ", "))));
}

}  // namespace

Json named_config(std::string_view name) {
  for (const Family* family : families()) {
    for (const NamedArchitecture& row : family->architectures) {
      if (row.name != name) continue;
      return {{"architecture", std::string(name)},
              {"model_args", parse_json_object(row.model_args, row.name)},
              {"preset", parse_json_object(row.preset.empty() ? family->preset : row.preset, row.name)}};
    }
  }
  name = current_timm_name(name);
  const std::size_t dot = name.find('.');
  const std::string_view plain = name.substr(0, dot);
  const std::string_view tag = dot == std::string_view::npos ? "" : name.substr(dot + 1);
  const auto all = timm_architectures();
  if (std::none_of(all.begin(), all.end(), [&](const TimmArchitecture& row) { return row.name == plain; }))
    fail_unknown(name);
  const TimmPretrained& weights = find_weights(plain, tag);
  Json config = Json::object();
  config["architecture"] =
      weights.tag.empty() ? std::string(plain) : fmt::format("{}.{}", plain, weights.tag);
  config["pretrained_cfg"] = parse_json_object(weights.cfg, weights.architecture);
  return config;
}

}  // namespace vit::io
