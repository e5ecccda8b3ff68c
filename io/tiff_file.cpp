#include "io/tiff_file.hpp"

#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace vit::io::internal {

/// What libtiff calls; the handle is the TiffFile.
struct TiffCallbacks {
  static TiffFile* file(void* handle) { return static_cast<TiffFile*>(handle); }

  static tmsize_t read(thandle_t handle, void* to, tmsize_t size) {
    TiffFile* self = file(handle);
    const std::size_t left = self->bytes_.size() - std::min(self->position_, self->bytes_.size());
    const std::size_t count = std::min(static_cast<std::size_t>(std::max<tmsize_t>(size, 0)), left);
    if (count > 0) std::memcpy(to, self->bytes_.data() + self->position_, count);
    self->position_ += count;
    return static_cast<tmsize_t>(count);
  }

  static tmsize_t write(thandle_t, void*, tmsize_t) { return 0; }

  static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    TiffFile* self = file(handle);
    std::size_t base = 0;
    if (whence == SEEK_CUR) base = self->position_;
    if (whence == SEEK_END) base = self->bytes_.size();
    self->position_ = base + static_cast<std::size_t>(offset);
    return self->position_;
  }

  static int close(thandle_t) { return 0; }

  static toff_t size(thandle_t handle) { return file(handle)->bytes_.size(); }

  /// libtiff only reads from the mapping: files are opened with mode "r".
  static int map(thandle_t handle, void** base, toff_t* size) {
    *base = const_cast<std::uint8_t*>(file(handle)->bytes_.data());
    *size = file(handle)->bytes_.size();
    return 1;
  }

  static void unmap(thandle_t, void*, toff_t) {}

  static int keep_error(TIFF*, void* handle, const char*, const char* format, va_list arguments) {
    TiffFile* self = file(handle);
    if (self->message_[0] == 0) std::vsnprintf(self->message_, sizeof self->message_, format, arguments);
    return 1;  // handled: nothing is printed
  }

  static int drop_warning(TIFF*, void*, const char*, const char*, va_list) { return 1; }
};

void TiffFile::Close::operator()(tiff* file) const {
  TIFFClose(file);
}

TiffFile::TiffFile(Bytes bytes) : bytes_(bytes) {
  using Calls = TiffCallbacks;
#if TIFFLIB_VERSION >= 20221213  // 4.5: handlers per file. Before, there are only those of the whole process.
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                             &TIFFOpenOptionsFree);
  if (!options) throw std::bad_alloc();
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), &Calls::keep_error, this);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), &Calls::drop_warning, nullptr);
  tiff_.reset(TIFFClientOpenExt("memory", "r", this, &Calls::read, &Calls::write, &Calls::seek, &Calls::close,
                                &Calls::size, &Calls::map, &Calls::unmap, options.get()));
#else
  tiff_.reset(TIFFClientOpen("memory", "r", this, &Calls::read, &Calls::write, &Calls::seek, &Calls::close,
                             &Calls::size, &Calls::map, &Calls::unmap));
#endif
}

}  // namespace vit::io::internal
