#include "io/hub_id.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "io/quote_name.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr std::array<std::string_view, 2> kPrefixes{"hf-hub:", "hf_hub:"};
constexpr std::size_t kMaxRepository = 96;  // as the hub has it
constexpr std::size_t kMaxRevision = 200;

bool is_alphanumeric(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 && static_cast<unsigned char>(c) < 0x80;
}

/// Letters, digits, '-', '_' and '.'; none of '-' and '.' at the ends or twice in a row.
bool is_name(std::string_view name) {
  const auto allowed = [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; };
  const auto at_an_end = [](char c) { return c != '-' && c != '.'; };
  return !name.empty() && std::all_of(name.begin(), name.end(), allowed) && at_an_end(name.front()) &&
         at_an_end(name.back()) && name.find("--") == std::string_view::npos &&
         name.find("..") == std::string_view::npos;
}

bool is_repository(std::string_view text) {
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && text.size() <= kMaxRepository && is_name(text.substr(0, slash)) &&
         is_name(text.substr(slash + 1)) && !text.ends_with(".git");
}

std::optional<HubId> parse(std::string_view text) {
  const std::size_t at = text.find('@');
  if (!is_repository(text.substr(0, at))) return std::nullopt;
  HubId id{std::string(text.substr(0, at))};
  if (at != std::string_view::npos) id.revision = text.substr(at + 1);
  return is_revision(id.revision) ? std::optional(id) : std::nullopt;
}

std::optional<std::string_view> without_prefix(std::string_view text) {
  for (const std::string_view prefix : kPrefixes) {
    if (text.starts_with(prefix)) return text.substr(prefix.size());
  }
  return std::nullopt;
}

}  // namespace

std::string HubId::text() const {
  return revision == "main" ? repository : fmt::format("{}@{}", repository, revision);
}

HubId parse_hub_id(std::string_view text) {
  if (auto id = parse(without_prefix(text).value_or(text))) return *id;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: expected the name of a model on the hub, org/name or org/name@revision",
                          quote_name(text)));
}

std::optional<HubId> find_hub_id(std::string_view text) {
  return without_prefix(text) ? parse_hub_id(text) : parse(text);
}

bool is_revision(std::string_view text) {
  const auto forbidden = [](char c) {
    return static_cast<unsigned char>(c) <= 0x20 || c == 0x7F ||
           std::string_view("~^:?*[\\@").find(c) != std::string_view::npos;
  };
  if (text.empty() || text.size() > kMaxRevision || std::any_of(text.begin(), text.end(), forbidden))
    return false;
  return text.front() != '/' && text.front() != '.' && text.back() != '/' && text.back() != '.' &&
         text.find("..") == std::string_view::npos && text.find("//") == std::string_view::npos &&
         text.find("/.") == std::string_view::npos;
}

bool is_commit(std::string_view text) {
  return text.size() == 40 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace vit::io
