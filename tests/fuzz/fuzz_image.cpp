// Any bytes are either a picture, or an Error that does not blame Vitrine: never anything else.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "io/image.hpp"
#include "vit/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vit::io::DecodeOptions options;
  options.max_pixels = 1 << 20;
  options.transparency = vit::io::Transparency::colour_key_on_white;
  try {
    const auto image = vit::io::decode_image(std::as_bytes(std::span(data, size)), "fuzz", options);
    if (image.width < 1 || image.height < 1 || image.width * image.height > options.max_pixels) std::abort();
    if (image.pixels.size() != static_cast<std::size_t>(image.width * image.height * 3)) std::abort();
  } catch (const vit::Error& error) {
    if (error.code() == vit::ErrorCode::internal) std::abort();
  }
  return 0;
}
