#include "io/library_versions.hpp"

#include <archive.h>
#include <fmt/format.h>
#include <gif_lib.h>
#include <openssl/crypto.h>
#include <png.h>
#include <tiffio.h>
#include <webp/decode.h>
#include <zip.h>

#include <cstdio>  // jpeglib.h needs FILE
// Behind <cstdio>:
#include <jpeglib.h>

#include <nlohmann/json.hpp>
#include <opencv2/core/utility.hpp>

#include "io/http_client.hpp"

#define VITRINE_TEXT_OF(...) #__VA_ARGS__
#define VITRINE_TEXT(...) VITRINE_TEXT_OF(__VA_ARGS__)

namespace vit::io {
namespace {

#ifdef LIBJPEG_TURBO_VERSION
constexpr const char* kJpegLibrary = "libjpeg-turbo";
constexpr const char* kJpegVersion = VITRINE_TEXT(LIBJPEG_TURBO_VERSION);
#else
constexpr const char* kJpegLibrary = "libjpeg";
constexpr const char* kJpegVersion = VITRINE_TEXT(JPEG_LIB_VERSION);
#endif

std::string webp_version() {
  const int version = WebPGetDecoderVersion();  // 0xMMmmpp
  return fmt::format("{}.{}.{}", version >> 16, version >> 8 & 0xff, version & 0xff);
}

/// "LIBTIFF, Version 4.5.0" and a copyright on more lines.
std::string tiff_version() {
  const std::string text = TIFFGetVersion();
  const std::string line = text.substr(0, text.find('\n'));
  return line.substr(line.rfind(' ') + 1);
}

/// "libarchive 3.6.2"
std::string archive_version() {
  const std::string text = archive_version_string();
  return text.substr(text.rfind(' ') + 1);
}

}  // namespace

std::vector<LibraryVersion> library_versions() {
  return {{"OpenCV", cv::getVersionString()},
          {kJpegLibrary, kJpegVersion},
          {"libpng", png_get_libpng_ver(nullptr)},
          {"libwebp", webp_version()},
          {"libtiff", tiff_version()},
          {"giflib", fmt::format("{}.{}.{}", GIFLIB_MAJOR, GIFLIB_MINOR, GIFLIB_RELEASE)},
          {"libarchive", archive_version()},
          {"libzip", zip_libzip_version()},
          {"libcurl", http_library_version()},
          {"OpenSSL", OpenSSL_version(OPENSSL_VERSION_STRING)},
          {"nlohmann-json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                        NLOHMANN_JSON_VERSION_PATCH)},
          {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)}};
}

}  // namespace vit::io
