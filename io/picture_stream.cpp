#include "io/picture_stream.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "io/animation_stream.hpp"
#include "io/tar_stream.hpp"
#include "io/video_stream.hpp"

namespace vit::io {

std::string describe(const Input& input) {
  return input.frame ? fmt::format("{}, frame {}", input.name, input.frame->number) : input.name;
}

std::unique_ptr<PictureStream> open_picture_stream(const std::string& name, const FrameOptions& frames) {
  std::error_code ignored;  // what cannot be looked at is one picture: reading it gives the error
  const auto status = std::filesystem::status(name, ignored);
  if (!std::filesystem::exists(status)) return camera_number(name) ? open_camera(name, frames) : nullptr;
  if (!std::filesystem::is_regular_file(status)) return nullptr;
  if (has_tar_extension(name)) return open_tar(name);
  if (has_video_extension(name)) return open_video(name, frames);
  if (frames.every && has_animation_extension(name)) return open_animation_stream(name, frames);
  return nullptr;
}

}  // namespace vit::io
