// What a TIFF file's first directory says by itself, before libtiff mends it. Internal: not installed.
#pragma once

#include "io/image_formats.hpp"

namespace vit::io::internal {

struct TiffDirectory {
  bool is_cut_off = false;   ///< it, or values of it that make pixels, lie beyond the end of the file
  bool has_palette = false;  ///< PhotometricInterpretation is "palette"
};

TiffDirectory scan_tiff_directory(Bytes bytes);

}  // namespace vit::io::internal
