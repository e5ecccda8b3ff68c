// Memory beside the mapped file, for tensors that cannot stay as they lie there. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vit::io {

/// Bounded by the file's length, so that a small file cannot ask for all of a machine's memory: zip bombs,
/// tensors of stride 0.
class OwnedBytes {
 public:
  OwnedBytes(std::size_t file_bytes, std::string_view file_name);

  /// Throws Error(weights_invalid) if so much more is too much; `what` asks for it.
  void check(std::uint64_t more, std::string_view what) const;
  /// Checked, zero, and fixed in place.
  std::span<std::byte> allocate(std::uint64_t size, std::string_view what);
  /// Checked as well.
  std::span<const std::byte> adopt(std::vector<std::byte> bytes, std::string_view what);

  /// All of it; the addresses stay.
  std::deque<std::vector<std::byte>> take() { return std::move(blocks_); }

 private:
  std::string file_name_;
  std::uint64_t limit_;
  std::uint64_t used_ = 0;
  std::deque<std::vector<std::byte>> blocks_;
};

}  // namespace vit::io
