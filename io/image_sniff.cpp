#include "io/image_sniff.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "io/byte_order.hpp"

namespace vit::io::internal {
namespace {

using namespace std::literals;

struct Signature {
  std::string_view magic;
  std::string_view format;
};

/// Formats that start with fixed bytes. RIFF, ftyp boxes, BMP and PNM need a closer look.
constexpr std::array supported{
    Signature{"\x89PNG\r\n\x1a\n"sv, "PNG"},
    Signature{"\xff\xd8\xff"sv, "JPEG"},
    Signature{"GIF87a"sv, "GIF"},
    Signature{"GIF89a"sv, "GIF"},
    Signature{"II*\0"sv, "TIFF"},
    Signature{"MM\0*"sv, "TIFF"},
    Signature{"II+\0"sv, "TIFF"},
    Signature{"MM\0+"sv, "TIFF"},
};

constexpr std::array unsupported{
    Signature{"8BPS"sv, "a Photoshop (PSD) picture"},
    Signature{"\0\0\1\0"sv, "a Windows icon (ICO)"},
    Signature{"\0\0\2\0"sv, "a Windows cursor (CUR)"},
    Signature{"\0\0\0\x0cjP  \r\n\x87\n"sv, "a JPEG 2000 picture"},
    Signature{"\xff\x4f\xff\x51"sv, "a JPEG 2000 codestream"},
    Signature{"\xff\x0a"sv, "a JPEG XL picture"},
    Signature{"\0\0\0\x0cJXL \r\n\x87\n"sv, "a JPEG XL picture"},
    Signature{"%PDF"sv, "a PDF document"},
    Signature{"%!PS"sv, "a PostScript document"},
    Signature{"\x76\x2f\x31\x01"sv, "an OpenEXR picture"},
    Signature{"#?RADIANCE"sv, "a Radiance HDR picture"},
    Signature{"qoif"sv, "a QOI picture"},
    Signature{"DDS "sv, "a DirectDraw surface (DDS)"},
    Signature{"icns"sv, "an Apple icon (ICNS)"},
    Signature{"P7\n"sv, "a PAM picture"},
    Signature{"PF\n"sv, "a floating-point PFM picture"},
    Signature{"Pf\n"sv, "a floating-point PFM picture"},
    Signature{"FORM"sv, "an IFF picture"},
    Signature{"\x1a\x45\xdf\xa3"sv, "a Matroska or WebM video"},
};

constexpr std::array foreign{
    Signature{"version https://git-lfs"sv,
              "a Git LFS pointer (the file itself was not downloaded: run git lfs pull)"},
    Signature{"<!DOCTYPE"sv, "an HTML page"},
    Signature{"<!doctype"sv, "an HTML page"},
    Signature{"<html"sv, "an HTML page"},
    Signature{"<HTML"sv, "an HTML page"},
    Signature{"<?xml"sv, "an XML document"},
    Signature{"{"sv, "JSON"},
    Signature{"PK\3\4"sv, "a zip archive"},
    Signature{"\x1f\x8b"sv, "gzip data"},
    Signature{"\x7f"
              "ELF"sv,
              "a program (ELF)"},
    Signature{"MZ"sv, "a Windows program"},
    Signature{"ID3"sv, "an MP3 file"},
    Signature{"OggS"sv, "an Ogg file"},
    Signature{"\x93NUMPY"sv, "a NumPy array"},
};

/// Boxes of ISO media files: HEIC, AVIF, and videos.
std::string_view iso_media(std::string_view brand) {
  if (brand == "avif" || brand == "avis") return "an AVIF picture";
  if (brand == "heic" || brand == "heix" || brand == "hevc" || brand == "mif1" || brand == "msf1")
    return "a HEIC picture";
  if (brand == "crx ") return "a Canon raw picture (CR3)";
  return "an MP4 or QuickTime video";
}

bool is_text(std::string_view head) {
  return std::all_of(head.begin(), head.end(), [](unsigned char c) {
    return (c >= 0x20 && c != 0x7f) || c == '\n' || c == '\r' || c == '\t';
  });
}

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// "BM" alone is also how words begin: the size of the header must be one that exists.
bool is_bmp(std::string_view head, const EncodedImage& encoded) {
  if (!head.starts_with("BM")) return false;
  if (head.size() < 18) return !is_text(head) || head.size() == 2;
  constexpr std::array<std::uint32_t, 7> header_sizes{12, 40, 52, 56, 64, 108, 124};
  const std::uint32_t size = load_le32(encoded.bytes.data() + 14);
  return std::find(header_sizes.begin(), header_sizes.end(), size) != header_sizes.end() || !is_text(head);
}

bool is_pnm(std::string_view head) {
  return head.size() >= 3 && head[0] == 'P' && head[1] >= '1' && head[1] <= '6' && is_space(head[2]);
}

std::string_view looks_like(std::string_view head) {
  std::string_view trimmed = head;
  if (trimmed.starts_with("\xef\xbb\xbf")) trimmed.remove_prefix(3);
  while (!trimmed.empty() && is_space(trimmed.front())) trimmed.remove_prefix(1);
  for (const Signature& kind : foreign)
    if (trimmed.starts_with(kind.magic)) return kind.format;
  if (std::all_of(head.begin(), head.end(), [](char c) { return c == 0; })) return "zero bytes";
  return is_text(head) ? "text" : "";
}

/// Pictures that other programs read, so that the message can name what it is.
std::string_view unsupported_picture(std::string_view head) {
  for (const Signature& kind : unsupported)
    if (head.starts_with(kind.magic)) return kind.format;
  if (head.size() >= 12 && head.substr(4, 4) == "ftyp") return iso_media(head.substr(8, 4));
  if (head.size() >= 12 && head.starts_with("RIFF") && head.substr(8, 4) == "AVI ") return "an AVI video";
  if (head.find("<svg") != head.npos && head.find('<') == head.find_first_not_of(" \t\r\n\xef\xbb\xbf"))
    return "an SVG drawing";
  return "";
}

[[noreturn]] void fail_unknown(std::string_view head, const EncodedImage& encoded) {
  constexpr std::string_view decoded = "PNG, JPEG, GIF, WebP, BMP, TIFF and PNM are decoded";
  if (const auto kind = unsupported_picture(head); !kind.empty())
    fail(ErrorCode::image_unsupported, encoded, fmt::format("is {}; {}", kind, decoded));

  for (const Signature& known : supported)
    if (head.size() >= 2 && known.magic.starts_with(head)) fail_truncated(encoded, known.format);
  if (head.size() >= 2 && (head.starts_with("RIFF") ? head.size() < 12 : "RIFF"sv.starts_with(head)))
    fail_truncated(encoded, "WebP");

  if (const auto kind = looks_like(head); !kind.empty())
    fail(ErrorCode::image_unknown, encoded,
         fmt::format("is not a picture but looks like {}; {}", kind, decoded));
  fail(ErrorCode::image_unknown, encoded,
       fmt::format("is not a picture in a known format (it starts with the bytes {:02x}); {}",
                   fmt::join(encoded.bytes.first(std::min<std::size_t>(8, head.size())), " "), decoded));
}

}  // namespace

ImageFormat sniff_format(const EncodedImage& encoded) {
  if (encoded.bytes.empty())
    fail(ErrorCode::image_empty, encoded, "is empty (0 bytes): copy or download it again");
  const std::string_view head(reinterpret_cast<const char*>(encoded.bytes.data()),
                              std::min<std::size_t>(encoded.bytes.size(), 512));
  for (const Signature& known : supported) {
    if (!head.starts_with(known.magic)) continue;
    if (known.format == "PNG") return ImageFormat::png;
    if (known.format == "JPEG") return ImageFormat::jpeg;
    if (known.format == "GIF") return ImageFormat::gif;
    return ImageFormat::tiff;
  }
  if (head.size() >= 12 && head.starts_with("RIFF") && head.substr(8, 4) == "WEBP") return ImageFormat::webp;
  if (is_bmp(head, encoded)) return ImageFormat::bmp;
  if (is_pnm(head)) return ImageFormat::pnm;
  fail_unknown(head, encoded);
}

}  // namespace vit::io::internal
