#include "io/owned_bytes.hpp"

#include <fmt/format.h>

#include "vit/error.hpp"

namespace vit::io {
namespace {

// Weights hardly shrink; a layer of zeros shrinks to a thousandth (deflate's best), but is never all there
// is.
constexpr std::uint64_t kRatio = 64;
constexpr std::uint64_t kAlways = std::uint64_t{16} << 20;

}  // namespace

OwnedBytes::OwnedBytes(std::size_t file_bytes, std::string_view file_name)
    : file_name_(file_name), limit_(kAlways + kRatio * file_bytes) {}

void OwnedBytes::check(std::uint64_t more, std::string_view what) const {
  if (more > limit_ - used_) {
    throw Error(ErrorCode::weights_invalid,
                fmt::format("{}: {} takes {} bytes of memory, more than the limit for a file of this length "
                            "({} bytes in all, {} of them used)",
                            file_name_, what, more, limit_, used_));
  }
}

std::span<std::byte> OwnedBytes::allocate(std::uint64_t size, std::string_view what) {
  check(size, what);
  used_ += size;
  return blocks_.emplace_back(static_cast<std::size_t>(size));
}

std::span<const std::byte> OwnedBytes::adopt(std::vector<std::byte> bytes, std::string_view what) {
  check(bytes.size(), what);
  used_ += bytes.size();
  return blocks_.emplace_back(std::move(bytes));
}

}  // namespace vit::io
