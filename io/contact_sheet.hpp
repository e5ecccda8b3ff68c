// Many small pictures on one, with captions.
#pragma once

#include <span>
#include <string>

#include "io/image.hpp"

namespace vit::io {

/// A picture on a sheet, and a line of ASCII text below it.
struct SheetTile {
  Image image;
  std::string caption;
};

/// All tiles in a grid on white, row by row, below a line of ASCII text. Throws Error: invalid_argument (no
/// tile, or tiles of several sizes), internal; std::bad_alloc.
Image contact_sheet(std::span<const SheetTile> tiles, const std::string& title);

}  // namespace vit::io
