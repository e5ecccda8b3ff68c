// What a picture shows, written on it.
#pragma once

#include <span>
#include <string>

#include "io/image.hpp"

namespace vit::io {

/// The picture upright, with lines of text on a dark ground in its upper left corner, as large as suits the
/// picture. A picture too small for text is first enlarged by a whole number. Text that is too wide even in
/// the smallest letters ends in "..."; of its characters those that are not ASCII become "?", since OpenCV's
/// own font has no others. Thread-safe. Throws Error: invalid_argument (pixels that are no picture),
/// internal; std::bad_alloc.
Image draw_labels(Image picture, std::span<const std::string> lines);

}  // namespace vit::io
