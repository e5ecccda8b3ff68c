// Where a run over many pictures gets them from, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "io/input.hpp"

namespace vit::io {

/// Not thread-safe, but for total().
class InputSequence {
 public:
  InputSequence() = default;
  InputSequence(const InputSequence&) = delete;
  InputSequence& operator=(const InputSequence&) = delete;
  virtual ~InputSequence() = default;

  /// The next input, or nothing at the end. May wait.
  virtual std::optional<Input> next() = 0;

  /// How many more are certain to come, up to `most`. Does not wait. Of a stream, few, since they are in
  /// memory then.
  virtual std::size_t look_ahead(std::size_t most) = 0;

  /// About how many there are in all, those that were given out included; nothing while that cannot be told.
  /// From any thread.
  virtual std::optional<std::int64_t> total() const = 0;
};

}  // namespace vit::io
