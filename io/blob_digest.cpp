#include "io/blob_digest.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "io/quote_name.hpp"
#include "vit/error.hpp"
#include "vit/file.hpp"

namespace vit::io {
namespace {

class Digest {
 public:
  explicit Digest(const EVP_MD* algorithm) : context_(EVP_MD_CTX_new()) {
    require(context_ != nullptr && EVP_DigestInit_ex(context_.get(), algorithm, nullptr) == 1);
  }

  void update(std::span<const std::byte> bytes) {
    require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }

  std::string finish() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned int size = 0;
    require(EVP_DigestFinal_ex(context_.get(), bytes.data(), &size) == 1);
    std::string text;
    for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
    return text;
  }

 private:
  static void require(bool done) {
    if (!done) throw Error(ErrorCode::internal, "libcrypto: a checksum cannot be computed");
  }

  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

}  // namespace

DigestKind digest_kind(std::string_view etag, std::string_view file) {
  const bool hexadecimal = etag.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (hexadecimal && etag.size() == 64) return DigestKind::sha256;
  if (hexadecimal && etag.size() == 40) return DigestKind::git_blob;
  throw Error(
      ErrorCode::download_failed,
      fmt::format("{}: expected its SHA-256 or git's SHA-1 as its ETag, to check it with; the hub sent "
                  "{}",
                  file, quote_name(etag)));
}

std::string digest_of(const std::filesystem::path& path, DigestKind kind) {
  constexpr std::size_t kPiece = std::size_t{16} << 20;
  const MappedFile file(path, FileErrors::all(ErrorCode::output_unwritable));
  std::span<const std::byte> rest = file.bytes();
  Digest digest(kind == DigestKind::sha256 ? EVP_sha256() : EVP_sha1());
  if (kind == DigestKind::git_blob) {
    const std::string head = fmt::format("blob {}", rest.size());
    digest.update(std::as_bytes(std::span(head.c_str(), head.size() + 1)));
  }
  while (!rest.empty()) {
    const auto piece = rest.first(std::min(rest.size(), kPiece));
    digest.update(piece);
    file.release_pages(piece);
    rest = rest.subspan(piece.size());
  }
  return digest.finish();
}

}  // namespace vit::io
