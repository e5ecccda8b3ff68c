// A TIFF file in memory, opened by libtiff, which prints nothing. Internal: not installed.
#pragma once

#include <memory>
#include <string_view>

#include "io/image_formats.hpp"

struct tiff;  // libtiff's TIFF

namespace vit::io::internal {

class TiffFile {
 public:
  /// The bytes must outlive the file.
  explicit TiffFile(Bytes bytes);
  TiffFile(const TiffFile&) = delete;
  TiffFile& operator=(const TiffFile&) = delete;

  /// Null if libtiff could not open it.
  tiff* get() const { return tiff_.get(); }

  /// What libtiff complained about first.
  std::string_view message() const { return message_; }

 private:
  friend struct TiffCallbacks;
  struct Close {
    void operator()(tiff* file) const;
  };

  Bytes bytes_;
  std::size_t position_ = 0;
  char message_[256] = {};
  std::unique_ptr<tiff, Close> tiff_;
};

}  // namespace vit::io::internal
