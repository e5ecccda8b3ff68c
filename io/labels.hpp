// Class index -> name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vit::io {

/// The names of a model's classes, one place for each row of its head. Immutable.
class Labels {
 public:
  /// No classes at all: a model without a head.
  Labels() = default;
  /// `names` by index; those of `size` that are not in it are holes. Throws Error(internal) for an index
  /// outside.
  Labels(std::int64_t size, const std::map<std::int64_t, std::string>& names);

  std::int64_t size() const { return static_cast<std::int64_t>(names_.size()); }
  /// The name, or the index as text where the model gives none: a hole never takes a neighbour's name.
  /// Throws Error(internal) outside [0, size).
  std::string name(std::int64_t index) const;
  /// Whether the model gives it one. Throws as name().
  bool has_name(std::int64_t index) const;
  /// Classes with a name of their own.
  std::int64_t named() const;

 private:
  std::vector<std::optional<std::string>> names_;
};

}  // namespace vit::io
