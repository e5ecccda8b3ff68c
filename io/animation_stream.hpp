// The frames of an animated picture. Internal to io/.
#pragma once

#include <memory>
#include <string>

#include "io/picture_stream.hpp"

namespace vit::io {

/// Whether a file of this name may be an animation: .gif, .webp.
bool has_animation_extension(const std::string& name);

/// Frames as Pillow shows them, with the times at which they appear. A picture that does not move is one
/// Input that is no frame.
std::unique_ptr<PictureStream> open_animation_stream(const std::string& name, const FrameOptions& options);

}  // namespace vit::io
