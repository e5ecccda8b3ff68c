// The pictures in a tar archive, plain or compressed (WebDataset's shards). Internal to io/.
#pragma once

#include <memory>
#include <string>

#include "io/picture_stream.hpp"

namespace vit::io {

/// Whether a file of this name is read as an archive: .tar, .tgz, .tar.gz, .tar.bz2, .tar.xz, .tar.zst.
bool has_tar_extension(const std::string& name);

/// Its regular members that have a picture's name, hidden ones skipped, in the archive's order, each as
/// archive/member. Read in one pass; memory for one member at a time. An archive without pictures, or that is
/// damaged, gives an Input with an error.
std::unique_ptr<PictureStream> open_tar(const std::string& name);

}  // namespace vit::io
