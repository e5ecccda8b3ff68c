// The module itself: vitrine_video.so, which video_decoder.cpp loads.
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>

#include "io/video_decoder.hpp"

namespace vit::io {
namespace {

/// OpenCV 4.6 turns what is to be turned by a quarter the wrong way round (opencv/opencv issue 22088).
bool turns_wrongly() {
  return cv::getVersionMajor() == 4 && cv::getVersionMinor() == 6;
}

class OpenCvDecoder : public VideoDecoder {
 public:
  explicit OpenCvDecoder(cv::VideoCapture capture) : capture_(std::move(capture)) {
    const double turn = property(cv::CAP_PROP_ORIENTATION_META);  // degrees
    is_upside_down_ = turns_wrongly() && (turn == 90 || turn == 270);
  }

  bool grab() override {
    return attempt([&] { return capture_.grab(); });
  }

  bool retrieve(Image& image) override {
    return attempt([&] {
      cv::Mat bgr;
      if (!capture_.retrieve(bgr) || bgr.empty()) return false;
      if (is_upside_down_) cv::rotate(bgr, bgr, cv::ROTATE_180);
      image = {bgr.rows, bgr.cols, std::vector<std::uint8_t>(bgr.total() * 3)};
      cv::Mat rgb(bgr.rows, bgr.cols, CV_8UC3, image.pixels.data());
      cv::cvtColor(bgr, rgb, bgr.channels() == 1 ? cv::COLOR_GRAY2RGB : cv::COLOR_BGR2RGB);
      return true;
    });
  }

  double seconds() override { return property(cv::CAP_PROP_POS_MSEC) / 1000; }
  double frame_rate() override { return property(cv::CAP_PROP_FPS); }
  double frame_count() override { return property(cv::CAP_PROP_FRAME_COUNT); }
  double frame_pixels() override {
    return property(cv::CAP_PROP_FRAME_WIDTH) * property(cv::CAP_PROP_FRAME_HEIGHT);
  }

 private:
  template <class Step>
  static bool attempt(Step step) noexcept {
    try {
      return step();
    } catch (...) {
      return false;
    }
  }

  double property(int which) noexcept {
    double value = 0;
    attempt([&] {
      value = capture_.get(which);
      return true;
    });
    return value;
  }

  cv::VideoCapture capture_;
  bool is_upside_down_ = false;
};

/// `source` is a path or a number.
template <class Source>
VideoDecoder* open(const Source& source, int backend) noexcept {
  try {
    cv::VideoCapture capture(source, backend);
    return capture.isOpened() ? new OpenCvDecoder(std::move(capture)) : nullptr;
  } catch (...) {
    return nullptr;
  }
}

}  // namespace
}  // namespace vit::io

extern "C" {

// FFmpeg alone: others take a path with digits for a series of pictures.
[[gnu::visibility("default")]] VitrineDecodeVideo vitrine_decode_video;
vit::io::VideoDecoder* vitrine_decode_video(const char* path) {
  return vit::io::open(cv::String(path), cv::CAP_FFMPEG);
}

[[gnu::visibility("default")]] VitrineDecodeCamera vitrine_decode_camera;
vit::io::VideoDecoder* vitrine_decode_camera(int number) {
  return vit::io::open(number, cv::CAP_ANY);
}
}
