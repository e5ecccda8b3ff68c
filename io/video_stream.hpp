// The frames of a video or a camera. Internal to io/.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "io/picture_stream.hpp"

namespace vit::io {

/// Whether a file of this name is read as a video: .mp4, .mov, .mkv, .avi, .webm, …
bool has_video_extension(const std::string& name);

/// N of "camera:N".
std::optional<int> camera_number(const std::string& name);

/// Frames as OpenCV's VideoCapture decodes them, upright, with the times that the file gives them. Read in
/// order without seeking, which would not be exact. One that cannot be opened, has no frames or ends long
/// before it says gives an Input with an error.
std::unique_ptr<PictureStream> open_video(const std::string& name, const FrameOptions& options);

/// Frames of a camera, without end unless the options have one.
std::unique_ptr<PictureStream> open_camera(const std::string& name, const FrameOptions& options);

}  // namespace vit::io
