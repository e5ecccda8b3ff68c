#include "io/video_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <functional>
#include <string_view>

#include "io/folder_listing.hpp"
#include "io/video_decoder.hpp"

namespace vit::io {
namespace {

constexpr std::array<std::string_view, 16> kEndings{".3gp", ".avi", ".flv",  ".m2ts", ".m4v", ".mjpeg",
                                                    ".mkv", ".mov", ".mp4",  ".mpeg", ".mpg", ".mts",
                                                    ".ogv", ".ts",  ".webm", ".wmv"};
constexpr std::string_view kCamera = "camera:";

/// Seconds since the first frame came.
class WallClock {
 public:
  double seconds() {
    const auto now = std::chrono::steady_clock::now();
    if (!start_) start_ = now;
    return std::chrono::duration<double>(now - *start_).count();
  }

 private:
  std::optional<std::chrono::steady_clock::time_point> start_;
};

class VideoStream : public PictureStream {
 public:
  /// Opens the decoder when the first frame is asked for.
  using Open = std::function<std::unique_ptr<VideoDecoder>()>;
  enum class Timing { file, wall };

  VideoStream(std::string name, const FrameOptions& options, Open open, Timing timing)
      : name_(std::move(name)), options_(options), timing_(timing), open_(std::move(open)) {}

  std::optional<Input> next() override {
    if (ended_) return std::nullopt;
    try {
      if (!decoder_) open();
      return next_frame();
    } catch (const Error& e) {
      ended_ = true;
      return Input{name_, Error(e.code(), name_ + ": " + e.what())};
    }
  }

  std::optional<std::int64_t> remaining() const override {
    if (expected_ == 0 || options_.end || options_.start > 0) return std::nullopt;
    const std::int64_t every = options_.every.value_or(1);
    return std::max<std::int64_t>(0, (expected_ - frames_ + every - 1) / every);
  }

 private:
  void open() {
    decoder_ = open_();
    if (!decoder_) {
      throw Error(ErrorCode::image_corrupt,
                  timing_ == Timing::wall ? "there is no such camera, or it cannot be opened"
                                          : "cannot be opened as a video: damaged, cut off, or in a format "
                                            "that this system's OpenCV does not read");
    }
    const double pixels = decoder_->frame_pixels();
    if (const auto most = static_cast<double>(DecodeOptions().max_pixels); pixels > most) {
      throw Error(ErrorCode::image_too_large,
                  fmt::format("frames of {:.0f} pixels, expected at most {:.0f}", pixels, most));
    }
    const double count = decoder_->frame_count();
    if (count >= 1 && count < 1e12) expected_ = static_cast<std::int64_t>(count);
  }

  std::optional<Input> next_frame() {
    while (decoder_->grab()) {
      const FramePosition position{frames_++, seconds()};
      if (options_.is_over(position)) return finish();
      if (!options_.takes(position)) continue;
      ++given_;
      Image image;
      if (decoder_->retrieve(image)) return Input{name_, {}, position, {}, std::move(image)};
      return Input{name_,
                   Error(ErrorCode::image_corrupt,
                         fmt::format("{}: frame {} cannot be decoded", name_, position.number)),
                   position};
    }
    if (ends_early()) {
      throw Error(ErrorCode::image_truncated,
                  fmt::format("the video ends early: {} of about {} frames can be read", frames_, expected_));
    }
    return finish();
  }

  /// By more than a container is wrong about itself: some count frames by a rate that is not the real one,
  /// and some are as long as their sound.
  bool ends_early() const {
    const double rate = decoder_->frame_rate();
    if (expected_ == 0 || rate <= 0) return false;
    const auto count = static_cast<double>(expected_);
    const double margin = 3 * std::max(step_, 1 / rate);
    return static_cast<double>(frames_) < 0.9 * count - 2 && last_seconds_ + margin < 0.9 * count / rate;
  }

  std::optional<Input> finish() {
    ended_ = true;
    if (given_ > 0) return std::nullopt;
    if (frames_ == 0) throw Error(ErrorCode::no_input, "the video has no frames");
    throw Error(
        ErrorCode::no_input,
        fmt::format("no frame is left by --start and --end; of the video {} frames were read, up to second "
                    "{:.3f}",
                    frames_, last_seconds_));
  }

  /// Of the frame that was grabbed last.
  double seconds() {
    if (timing_ == Timing::wall) return clock_.seconds();
    double time = decoder_->seconds();
    if (frames_ > 1 &&
        time <= 0) {  // the file does not say; of the last few frames OpenCV 4 does not know it
      if (const double rate = decoder_->frame_rate(); step_ == 0 && rate > 0) step_ = 1 / rate;
      time = last_seconds_ + step_;
    }
    step_ = time - last_seconds_;
    return last_seconds_ = time;
  }

  std::string name_;
  FrameOptions options_;
  Timing timing_;
  Open open_;
  std::unique_ptr<VideoDecoder> decoder_;
  WallClock clock_;
  std::int64_t expected_ = 0;  // 0: not known
  std::int64_t frames_ = 0;    // grabbed
  std::int64_t given_ = 0;
  double last_seconds_ = 0;
  double step_ = 0;  // to it from the one before
  bool ended_ = false;
};

}  // namespace

bool has_video_extension(const std::string& name) {
  return has_extension(name, kEndings);
}

std::optional<int> camera_number(const std::string& name) {
  if (!name.starts_with(kCamera)) return std::nullopt;
  int number = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kCamera.size(), end, number);
  if (error != std::errc() || stop != end || number < 0) return std::nullopt;
  return number;
}

std::unique_ptr<PictureStream> open_video(const std::string& name, const FrameOptions& options) {
  return std::make_unique<VideoStream>(
      name, options, [name] { return decode_video(name); }, VideoStream::Timing::file);
}

std::unique_ptr<PictureStream> open_camera(const std::string& name, const FrameOptions& options) {
  return std::make_unique<VideoStream>(
      name, options, [number = *camera_number(name)] { return decode_camera(number); },
      VideoStream::Timing::wall);
}

}  // namespace vit::io
