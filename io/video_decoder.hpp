// What decodes the frames of a video or a camera, in a module of its own (vitrine_video.so): OpenCV's video
// part brings some 200 shared libraries, which a program without videos need not load (they take a quarter of
// a second and 60 MB). Internal to io/.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/image.hpp"

namespace vit::io {

/// Not thread-safe. Nothing is thrown.
class VideoDecoder {
 public:
  virtual ~VideoDecoder() = default;

  /// Goes on to the next frame; false at the end, or where the data cannot be read further.
  virtual bool grab() = 0;
  /// The frame that was grabbed last, upright; false if it cannot be decoded.
  virtual bool retrieve(Image& image) = 0;
  /// Of that frame, from the start, as the file has it. 0: the file does not say.
  virtual double seconds() = 0;

  /// As the container says; 0 or less: unknown.
  virtual double frame_rate() = 0;
  virtual double frame_count() = 0;
  virtual double frame_pixels() = 0;
};

/// Null if there is no such video or camera. Throws Error(image_unsupported) if the module is not installed.
std::unique_ptr<VideoDecoder> decode_video(const std::string& path);
std::unique_ptr<VideoDecoder> decode_camera(int number);

}  // namespace vit::io

/// What the module has: a new object, or null.
extern "C" {
using VitrineDecodeVideo = vit::io::VideoDecoder*(const char* path);
using VitrineDecodeCamera = vit::io::VideoDecoder*(int number);
}
