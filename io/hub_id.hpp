// The name of a model on a hub: org/name[@revision].
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vit::io {

struct HubId {
  std::string repository;         ///< "org/name"
  std::string revision = "main";  ///< a branch, a tag, or a commit, which may be cut short

  bool operator==(const HubId&) const = default;
  /// "org/name", with "@revision" unless that is main.
  std::string text() const;
};

/// "org/name", "org/name@revision", and the same behind timm's "hf-hub:" or "hf_hub:". Throws
/// Error(invalid_argument) unless it is that: names of at most 96 bytes as the hub allows them, and a
/// revision as git does.
HubId parse_hub_id(std::string_view text);

/// The same for text that may be a path as well: nothing unless it is an id. Throws Error(invalid_argument)
/// only where a prefix says that it must be one.
std::optional<HubId> find_hub_id(std::string_view text);

/// Whether git allows it as a branch's or a commit's name. Never leads out of a folder as a path.
bool is_revision(std::string_view text);

/// 40 hexadecimal digits in lower case.
bool is_commit(std::string_view text);

}  // namespace vit::io
